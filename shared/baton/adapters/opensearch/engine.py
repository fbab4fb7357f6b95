"""Requests to OpenSearch: signing, time limits, repetition of refused ones, bulk writes, one mapping of failures."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from baton.domain.errors import SearchUnavailable
from baton.domain.metrics import Metric, count

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

logger = logging.getLogger(__name__)

REQUEST_SECONDS = 30.0
REFUSALS = 4
"""Attempts at a request that is refused with 429, with pauses of 0.1, 0.2 and 0.4 s between them."""
FIRST_PAUSE_SECONDS = 0.1
MAX_BYTES = 900_000
"""Bytes of one body. Longer ones would hold up the event loop while they are sent. A larger document goes alone."""
MAX_OPERATIONS = 1000


Operation = Sequence[Mapping[str, Any]]
"""The lines of one operation: an action, ``{"index": {...}}`` or ``{"delete": {...}}``, and the document to index."""
NEWER_EXISTS = frozenset({409})
"""The status of an ``index_operation`` that has changed nothing."""
AWS_HOST = re.compile(
    r"^https://[a-z0-9.-]+\.(?P<region>[a-z]{2}(?:-[a-z]+)+-\d)\.(?:es\.amazonaws\.com|on\.aws)(?:\.cn)?(?:/|$)"
)
"""``search-name-id.eu-central-1.es.amazonaws.com``, and ``...aos.eu-central-1.on.aws`` for dual-stack domains."""


class EngineError(SearchUnavailable):
    """OpenSearch answered with an error."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__()
        self.engine_status = status
        self.kind = kind
        """OpenSearch's name of the error, such as ``index_not_found_exception``."""
        self.reason = reason

    def __str__(self) -> str:
        return f"OpenSearch answered {self.engine_status} {self.kind}: {self.reason[:500]}"


class Engine:
    """One OpenSearch. The library is loaded, and a client made, by the first request of an event loop."""

    def __init__(self, url: str, pause_seconds: float = FIRST_PAUSE_SECONDS) -> None:
        """Requests are signed with the AWS credentials of the process if ``url`` names a domain of AWS."""
        self.url = url
        self._pause_seconds = pause_seconds
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenSearch] = WeakKeyDictionary()

    async def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = REQUEST_SECONDS,
        **params: Any,
    ) -> Any:
        """Return the JSON that ``path`` answers. Raises ``EngineError``, or ``SearchUnavailable`` without an answer."""
        return await self._request(method, path, None if body is None else json.dumps(body), seconds, params)

    async def lines(
        self, path: str, body: Iterable[Mapping[str, Any]], *, seconds: float = REQUEST_SECONDS, **params: Any
    ) -> Any:
        """Post ``body`` as JSON Lines and return the answer. Raises as ``request`` does."""
        text = "".join(json.dumps(line) + "\n" for line in body)
        return await self._request("POST", path, text, seconds, params)

    async def pages(self, index: str, body: Mapping[str, Any], **params: Any) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield pages of all hits of a search, of ``body["size"]`` in the order of ``body["sort"]``, a unique one.

        Raises as ``request`` does, and ``SearchUnavailable`` if a page is incomplete.
        """
        request = {**body, "track_total_hits": False}
        while True:
            answer = await self.request(
                "POST", f"/{index}/_search", request, allow_partial_search_results=False, **params
            )
            check_is_complete(answer)
            hits: list[dict[str, Any]] = answer["hits"]["hits"]
            if hits:
                yield hits
            if len(hits) < body["size"]:
                return
            request["search_after"] = hits[-1]["sort"]

    async def pause(self, attempt: int) -> bool:
        """Wait after the ``attempt``-th refusal, from 1. Return False, at once, after the last."""
        if attempt >= REFUSALS:
            return False
        await asyncio.sleep(self._pause_seconds * 2 ** (attempt - 1))
        return True

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _request(self, method: str, path: str, body: str | None, seconds: float, params: dict[str, Any]) -> Any:
        from opensearchpy.exceptions import ConnectionError as Unreachable
        from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, TransportError

        client = await self._client()
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}
        attempt = 0
        while True:
            attempt += 1
            try:
                return await client.transport.perform_request(method, path, params=texts, body=body, timeout=seconds)
            except Unreachable as problem:
                if attempt == 1 and not isinstance(problem, ConnectionTimeout):
                    continue  # a connection that was kept open has been closed meanwhile, as while Lambda was frozen
                count(Metric.SEARCHES_FAILED)
                logger.warning("OpenSearch does not answer %s %s: %s", method, path, problem)
                raise SearchUnavailable from problem
            except TransportError as problem:
                answer: Any = problem.error
                with contextlib.suppress(ValueError, AttributeError):  # a proxy's page is not a JSON object
                    answer = json.loads(answer)
                    answer = answer.get("error", answer)
                error = error_of(problem.status_code, answer)
                if error.engine_status == 429 and await self.pause(attempt):
                    continue
                raise error from problem
            except OpenSearchException as problem:  # an answer that is not JSON, as of a proxy
                count(Metric.SEARCHES_FAILED)
                logger.warning("OpenSearch's answer to %s %s cannot be read: %s", method, path, problem)
                raise SearchUnavailable from problem

    async def _client(self) -> AsyncOpenSearch:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            make = await asyncio.to_thread(_load, self.url)
            client = self._clients.get(loop)  # another task may have made it meanwhile
            if client is None:
                client = self._clients[loop] = make()
        return client


def check_is_complete(answer: Mapping[str, Any]) -> None:
    """Raise ``SearchUnavailable`` if an answer is not that of all shards."""
    if answer.get("timed_out"):
        raise SearchUnavailable
    if answer.get("_shards", {}).get("failed"):
        logger.warning("Shards failed: %s", str(answer["_shards"])[:500])
        raise SearchUnavailable


def _load(url: str) -> Callable[[], AsyncOpenSearch]:
    """Load the library, which takes a third of a second, and return how a client is made on the event loop."""
    import opensearchpy

    # It reports every failure, which is the caller's to judge, and at DEBUG the texts that were sent.
    logging.getLogger("opensearch").setLevel(logging.ERROR)
    signer: Any = None
    if (region := region_of(url)) is not None:
        from baton.adapters.aws.session import own_session

        signer = opensearchpy.AWSV4SignerAsyncAuth(own_session().get_credentials(), region, "es")

    def make() -> AsyncOpenSearch:
        return opensearchpy.AsyncOpenSearch(
            hosts=[url],
            connection_class=opensearchpy.AsyncHttpConnection,
            http_auth=signer,
            maxsize=32,
            # A repetition is the caller's matter: it knows how much time there is.
            max_retries=0,
            http_compress=False,
        )

    return make


def region_of(url: str) -> str | None:
    """Return the region of a domain of AWS by its own host name, None for any other host."""
    match = AWS_HOST.search(url)
    return match["region"] if match else None


def error_of(status: Any, error: Any) -> EngineError:
    """Return the error for the ``error`` part of an answer or of an item of it."""
    code = status if isinstance(status, int) else 0
    if not isinstance(error, Mapping):
        return EngineError(code, "", str(error))
    causes = [error, *error.get("root_cause", ()), error.get("caused_by") or {}]
    reason = "; ".join(dict.fromkeys(str(cause["reason"]) for cause in causes if cause.get("reason")))
    # A domain's access policy refuses with a message, before the request reaches OpenSearch.
    return EngineError(
        code, str(error.get("type", "")), reason or str(error.get("message") or error.get("Message", ""))
    )


def index_operation(alias: str, engine_id: str, routing: str, source: Mapping[str, Any]) -> Operation:
    """Return the operation that indexes a document, unless there is one that was written later."""
    action = {
        "_index": alias,
        "_id": engine_id,
        "routing": routing,
        "require_alias": True,
        "version": source["written_at"],
        "version_type": "external_gte",
    }
    return {"index": action}, source


async def bulk(
    engine: Engine, operations: Sequence[Operation], *, accepted: frozenset[int] = frozenset(), refresh: str = "false"
) -> None:
    """Execute the operations.

    ``refresh`` is that of the last request only. It makes all operations visible that go to the same shard.
    Operations that a full queue refuses are repeated within a bound. Raises ``EngineError`` for the first other failure
    whose status is not in ``accepted``; the other operations have been executed then.
    """
    parts = list(_parts(operations))
    for number, part in enumerate(parts, start=1):
        await _execute(engine, part, accepted, refresh if number == len(parts) else "false")


async def _execute(engine: Engine, operations: Sequence[Operation], accepted: frozenset[int], refresh: str) -> None:
    attempt = 0
    while operations:
        attempt += 1
        answer = await engine.lines("/_bulk", chain.from_iterable(operations), refresh=refresh)
        errors: list[tuple[Operation, EngineError]] = []
        for operation, item in zip(operations, answer["items"], strict=True):
            [result] = item.values()
            if result["status"] >= 300 and result["status"] not in accepted:
                errors.append((operation, error_of(result["status"], result.get("error"))))
        failure = next((error for _, error in errors if error.engine_status != 429), None)
        if failure is not None:
            logger.warning("A bulk operation failed: %s", failure)
            raise failure
        if errors and not await engine.pause(attempt):
            raise errors[-1][1]
        operations = [operation for operation, _ in errors]


def _parts(operations: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
    part: list[Operation] = []
    size = 0
    for operation in operations:
        length = sum(len(json.dumps(line)) + 1 for line in operation)
        if part and (size + length > MAX_BYTES or len(part) >= MAX_OPERATIONS):
            yield part
            part, size = [], 0
        part.append(operation)
        size += length
    if part:
        yield part
