"""Requests to OpenSearch: signing, time limits, repeated attempts, bulk writes, and the mapping of failures."""

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

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

logger = logging.getLogger(__name__)

REQUEST_SECONDS = 30.0
"""The usual time limit of one attempt of a request."""
MAX_ATTEMPTS = 4
"""The maximum number of attempts of a request that is refused with 429. The pause doubles with each attempt."""
FIRST_PAUSE_SECONDS = 0.1
"""The usual pause after the first refusal with 429."""
MAX_BYTES = 900_000
"""The maximum size of a bulk request, in bytes, so that sending it does not block the event loop. A larger document is
sent alone."""
MAX_OPERATIONS = 1000
"""The maximum number of operations of a bulk request."""


Operation = Sequence[Mapping[str, Any]]
"""The lines of one operation: an action, ``{"index": {...}}`` or ``{"delete": {...}}``, and the document to index."""
NEWER_EXISTS = frozenset({409})
"""The status of an operation of ``make_index_operation`` if a newer form of the document is stored."""
HAS_CHANGED = frozenset({409})
"""The status of an operation of ``make_replace_operation`` if the document has been changed or deleted meanwhile."""
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
    """One OpenSearch. The first request of an event loop loads the library and makes a client."""

    def __init__(self, url: str, pause_seconds: float = FIRST_PAUSE_SECONDS) -> None:
        """Requests are signed with the AWS credentials of the process if ``url`` names a domain of AWS.

        ``pause_seconds`` is the first pause after a refusal with 429.
        """
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
        """Send a request and return the JSON of its answer.

        ``params`` are the query parameters. ``seconds`` is the time limit of one attempt. Raises ``EngineError`` for an
        error of OpenSearch, and ``SearchUnavailable`` without an answer that can be read.
        """
        return await self._request(method, path, None if body is None else json.dumps(body), seconds, params)

    async def post_lines(
        self, path: str, body: Iterable[Mapping[str, Any]], *, seconds: float = REQUEST_SECONDS, **params: Any
    ) -> Any:
        """Post ``body`` as JSON Lines and return the answer. Raises as ``request`` does."""
        text = "".join(json.dumps(line) + "\n" for line in body)
        return await self._request("POST", path, text, seconds, params)

    async def read_pages(
        self, index: str, body: Mapping[str, Any], **params: Any
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield all hits of a search in pages of ``body["size"]``, in the order of ``body["sort"]``.

        No two hits may have the same sort values. Raises as ``request`` does, and ``SearchUnavailable`` if a page is
        incomplete.
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
        """Wait after a refused attempt, counted from 1. Return False at once if it was the last attempt."""
        if attempt >= MAX_ATTEMPTS:
            return False
        await asyncio.sleep(self._pause_seconds * 2 ** (attempt - 1))
        return True

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _request(self, method: str, path: str, body: str | None, seconds: float, params: dict[str, Any]) -> Any:
        """Send a request. Repeat it after refusals with 429, and once after a broken connection."""
        from opensearchpy.exceptions import ConnectionError as Unreachable
        from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, TransportError

        client = await self._get_client()
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}
        attempt = 0
        while True:
            attempt += 1
            try:
                return await client.transport.perform_request(method, path, params=texts, body=body, timeout=seconds)
            except Unreachable as problem:
                if attempt == 1 and not isinstance(problem, ConnectionTimeout):
                    continue  # an open connection was closed meanwhile, for example while Lambda was frozen
                raise SearchUnavailable from problem
            except TransportError as problem:
                answer: Any = problem.error
                with contextlib.suppress(ValueError, AttributeError):  # a proxy's page is not a JSON object
                    answer = json.loads(answer)
                    answer = answer.get("error", answer)
                error = to_engine_error(problem.status_code, answer)
                if error.engine_status == 429 and await self.pause(attempt):
                    continue
                raise error from problem
            except OpenSearchException as problem:  # for an answer that is not JSON, such as a proxy's
                raise SearchUnavailable from problem

    async def _get_client(self) -> AsyncOpenSearch:
        """Return the client of the running event loop, made at its first use."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            make = await asyncio.to_thread(_load, self.url)
            client = self._clients.get(loop)  # another task may have made it meanwhile
            if client is None:
                client = self._clients[loop] = make()
        return client


def check_is_complete(answer: Mapping[str, Any]) -> None:
    """Raise ``SearchUnavailable`` if shards are missing from an answer."""
    if answer.get("timed_out"):
        raise SearchUnavailable
    if answer.get("_shards", {}).get("failed"):
        logger.warning("Shards failed: %s", str(answer["_shards"])[:500])
        raise SearchUnavailable


def _load(url: str) -> Callable[[], AsyncOpenSearch]:
    """Load the library, which takes a third of a second. Return a function that makes a client on the event loop."""
    import opensearchpy

    # The library logs every failure, which the caller must judge, and at DEBUG the texts that were sent.
    logging.getLogger("opensearch").setLevel(logging.ERROR)
    signer: Any = None
    if (region := find_region(url)) is not None:
        from baton.adapters.aws.session import get_own_session

        signer = opensearchpy.AWSV4SignerAsyncAuth(get_own_session().get_credentials(), region, "es")

    def make() -> AsyncOpenSearch:
        return opensearchpy.AsyncOpenSearch(
            hosts=[url],
            connection_class=opensearchpy.AsyncHttpConnection,
            http_auth=signer,
            maxsize=32,
            max_retries=0,  # because the caller knows the time that is left
            http_compress=False,
        )

    return make


def find_region(url: str) -> str | None:
    """Return the AWS region in the host name of a domain of AWS; None for other hosts."""
    match = AWS_HOST.search(url)
    return match["region"] if match else None


def to_engine_error(status: Any, error: Any) -> EngineError:
    """Return the error for the member ``error`` of an answer or of one of its items.

    ``error`` may also be the whole answer, or a text. ``status`` is the HTTP status; None and other types become 0.
    """
    code = status if isinstance(status, int) else 0
    if not isinstance(error, Mapping):
        return EngineError(code, "", str(error))
    causes = [error, *error.get("root_cause", ()), error.get("caused_by") or {}]
    reason = "; ".join(dict.fromkeys(str(cause["reason"]) for cause in causes if cause.get("reason")))
    # A domain's access policy refuses requests before they reach OpenSearch; such an answer has a message but no
    # reason.
    return EngineError(
        code, str(error.get("type", "")), reason or str(error.get("message") or error.get("Message", ""))
    )


def make_index_operation(alias: str, engine_id: str, routing: str, source: Mapping[str, Any]) -> Operation:
    """Return the operation that indexes a document, unless a document of this id was written later.

    ``alias`` is a version's write alias.
    """
    action = {
        "_index": alias,
        "_id": engine_id,
        "routing": routing,
        "require_alias": True,
        "version": source["written_at"],
        "version_type": "external_gte",
    }
    return {"index": action}, source


def make_replace_operation(alias: str, hit: Mapping[str, Any]) -> Operation:
    """Return the operation that replaces a document by the source of its ``hit``.

    It is refused with 409 if the document has been changed or deleted since the search for ``hit``.
    """
    action = {
        "_index": alias,
        "_id": hit["_id"],
        "routing": hit["_routing"],
        "require_alias": True,
        "if_seq_no": hit["_seq_no"],
        "if_primary_term": hit["_primary_term"],
    }
    return {"index": action}, hit["_source"]


async def send_bulk(
    engine: Engine, operations: Sequence[Operation], *, accepted: frozenset[int] = frozenset(), refresh: str = "false"
) -> None:
    """Execute the operations in batches.

    ``refresh`` applies to the last batch, which makes all operations on the same shard visible. Operations that a full
    queue refuses are repeated, ``MAX_ATTEMPTS`` times in all. Raises ``EngineError`` for the first other failure whose
    status is not in ``accepted``; the other operations of its batch have been executed then.
    """
    batches = list(_divide_into_batches(operations))
    for number, batch in enumerate(batches, start=1):
        await _execute(engine, batch, accepted, refresh if number == len(batches) else "false")


async def _execute(engine: Engine, operations: Sequence[Operation], accepted: frozenset[int], refresh: str) -> None:
    """Execute one batch of operations. Repeat those that a full queue refuses. Raises ``EngineError``."""
    attempt = 0
    while operations:
        attempt += 1
        answer = await engine.post_lines("/_bulk", chain.from_iterable(operations), refresh=refresh)
        errors: list[tuple[Operation, EngineError]] = []
        for operation, item in zip(operations, answer["items"], strict=True):
            [result] = item.values()
            if result["status"] >= 300 and result["status"] not in accepted:
                errors.append((operation, to_engine_error(result["status"], result.get("error"))))
        failure = next((error for _, error in errors if error.engine_status != 429), None)
        if failure is not None:
            raise failure
        if errors and not await engine.pause(attempt):
            raise errors[-1][1]
        operations = [operation for operation, _ in errors]


def _divide_into_batches(operations: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
    """Yield the operations in batches of at most ``MAX_OPERATIONS`` and about ``MAX_BYTES``."""
    batch: list[Operation] = []
    size = 0
    for operation in operations:
        length = sum(len(json.dumps(line)) + 1 for line in operation)
        if batch and (size + length > MAX_BYTES or len(batch) >= MAX_OPERATIONS):
            yield batch
            batch, size = [], 0
        batch.append(operation)
        size += length
    if batch:
        yield batch
