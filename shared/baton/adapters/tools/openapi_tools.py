"""Tools that call operations of APIs described by OpenAPI documents."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
from cachetools import LRUCache

from baton.adapters.egress import EgressRefused, ResponseTooLarge
from baton.adapters.tools import openapi_document
from baton.adapters.tools.http_tools import HttpCall, HttpRequests, decode_body, fill_placeholders, make_query_pairs
from baton.adapters.tools.openapi_document import MAX_FETCHED_BYTES, SHIP_IT, Operation
from baton.adapters.tools.tool_source import SourceTool, ToolSource, Unreachable, UnusableDocument
from baton.concurrency.tasks import off_loop
from baton.domain.agents.tool import OpenApiTool
from baton.domain.schemas.schema_form import SchemaProblem, check_form
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult
from baton_documents.encodings.text_encoding import GUESSING

FRESH_SECONDS = 600.0
"""Seconds for which a fetched document is used before it is fetched again."""
FETCH_SECONDS = 10.0
"""The longest silence while a document is fetched."""
MAX_DOCUMENTS = 50
"""The number of cached documents. Each may take some megabytes."""
MAX_OPERATIONS = 2_000
"""The number of cached operations."""
DESCRIPTION = 2000
"""The length to which an operation's description is cut, in characters."""


@dataclass(frozen=True)
class OpenApiTools(ToolSource[OpenApiTool]):
    """Tools of ``openapi`` definitions. Their documents are shipped files, or are fetched without credentials."""

    requests: HttpRequests
    make_client: Callable[[float], httpx.AsyncClient]
    """Returns a client that fetches a document. Its argument is the timeout in seconds."""
    folder: Path
    """The folder of the agents' files, with the shipped documents."""
    monotonic: Callable[[], float] = time.monotonic
    _documents: LRUCache[str, tuple[Mapping[str, Any], float]] = field(
        init=False, default_factory=lambda: LRUCache(MAX_DOCUMENTS)
    )
    _operations: LRUCache[tuple[str, str, str | None], tuple[Operation, float]] = field(
        init=False, default_factory=lambda: LRUCache(MAX_OPERATIONS)
    )

    def find_endpoint(self, definition: OpenApiTool) -> str | None:
        address = definition.base_url or (definition.spec if definition.is_remote else "")
        return f"openapi:{urlsplit(address).netloc.lower() or definition.spec}"

    def must_ask(self, definition: OpenApiTool) -> bool:
        cached = self._operations.get(_make_key(definition))
        return definition.is_remote and (cached is None or not self._is_fresh(definition, cached[1]))

    def may_recover(self, definition: OpenApiTool) -> bool:
        return definition.is_remote

    async def list_tools(self, definition: OpenApiTool) -> Sequence[SourceTool]:
        operation = await self._read_operation(definition)
        description = operation.description[:DESCRIPTION]
        tool = SourceTool(
            definition.name,
            description,
            operation.schema,
            definition.requires_approval,
            definition.label,
            definition.asks,
        )
        if tool.question_problem is not None:
            raise ToolFailed(f"{tool.question_problem}.")
        return [tool]

    async def call(
        self, definition: OpenApiTool, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        cached = self._operations.get(_make_key(definition))
        # Calls use even an old document, because they must not fail with the document's host.
        operation = cached[0] if cached is not None else await self._read_operation(definition)
        return await self.requests.send(
            _to_request(operation, arguments),
            definition.headers,
            scope=context.scope,
            idempotency_key=context.idempotency_key,
            timeout_seconds=definition.timeout_seconds,
        )

    async def _read_operation(self, definition: OpenApiTool) -> Operation:
        """Return the operation, from the cache while it is fresh. Raises ``ToolFailed``."""
        key = _make_key(definition)
        cached = self._operations.get(key)
        if cached is not None and self._is_fresh(definition, cached[1]):
            return cached[0]
        document, read_at = await self._read_document(definition)
        location = definition.spec if definition.is_remote else ""
        try:
            operation = await asyncio.to_thread(
                _read_checked_operation, document, definition.operation_id, location, definition.base_url
            )
        except UnusableDocument as error:
            raise ToolFailed(str(error)) from error
        self._operations[key] = (operation, read_at)
        return operation

    async def _read_document(self, definition: OpenApiTool) -> tuple[Mapping[str, Any], float]:
        """Return the document and the time (of ``monotonic``) at which it was read. Raises ``ToolFailed``."""
        cached = self._documents.get(definition.spec)
        if cached is not None and self._is_fresh(definition, cached[1]):
            return cached
        read_at = self.monotonic()
        text = await (self._fetch_text(definition.spec) if definition.is_remote else self._read_file(definition.spec))
        try:
            document = await asyncio.to_thread(
                openapi_document.parse_document, text, is_trusted=not definition.is_remote
            )
        except UnusableDocument as error:
            raise ToolFailed(str(error)) from error
        self._documents[definition.spec] = (document, read_at)
        return document, read_at

    def _is_fresh(self, definition: OpenApiTool, read_at: float) -> bool:
        return not definition.is_remote or self.monotonic() - read_at < FRESH_SECONDS

    async def _read_file(self, spec: str) -> str:
        """Return the text of a shipped document. Raises ``ToolFailed``."""
        folder = self.folder.resolve()
        path = (folder / spec).resolve()
        if not path.is_relative_to(folder):
            raise ToolFailed(f"{spec} is not below the folder of the agents' files.")
        try:
            return await asyncio.to_thread(path.read_text, encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ToolFailed(f"The document {spec} cannot be read.") from error

    async def _fetch_text(self, url: str) -> str:
        """Return the text of the document at ``url``. Raises ``ToolFailed``."""
        async with self.make_client(FETCH_SECONDS) as client:
            try:
                # No credentials are sent, so a redirect may lead to any host that the deployment may call.
                response = await client.get(url, headers={"User-Agent": "baton"}, follow_redirects=True)
            except (EgressRefused, ResponseTooLarge) as error:
                raise ToolFailed(f"The document {url} cannot be fetched: {error}") from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise Unreachable(f"The document {url} cannot be fetched.") from error
        if response.status_code != 200:
            raise Unreachable(f"The document {url} cannot be fetched: HTTP {response.status_code}.")
        if len(response.content) > MAX_FETCHED_BYTES:
            raise ToolFailed(f"The document {url} has more than {MAX_FETCHED_BYTES} bytes. {SHIP_IT}")
        return await off_loop(len(response.content) * GUESSING, decode_body, response)


def _make_key(definition: OpenApiTool) -> tuple[str, str, str | None]:
    return definition.spec, definition.operation_id, definition.base_url


def _read_checked_operation(
    document: Mapping[str, Any], operation_id: str, location: str, base_url: str | None
) -> Operation:
    """Return the operation. Raises ``UnusableDocument`` if it is invalid, or its schema is not a valid JSON Schema."""
    operation = openapi_document.read_operation(document, operation_id, location, base_url)
    try:
        check_form(operation.schema)
    except SchemaProblem as error:
        raise UnusableDocument(f"The schema of {operation_id} {error}") from None
    return operation


def _to_request(operation: Operation, arguments: Mapping[str, Any]) -> HttpCall:
    """Return the request of a call. Raises ``ToolFailed`` for arguments that cannot be sent."""
    path_values = {
        parameter.name: arguments.get(parameter.argument)
        for parameter in operation.parameters
        if parameter.location == "path"
    }
    url, _ = fill_placeholders(operation.url, path_values)
    query: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    for parameter in operation.parameters:
        value = arguments.get(parameter.argument)
        if value is None or parameter.location == "path":
            continue
        pairs = list(make_query_pairs({parameter.name: value}))
        if parameter.location == "header" or not parameter.explode:
            pairs = [(parameter.name, ",".join(text for _, text in pairs))]
        if parameter.location == "header":
            # Escape all characters that a header cannot have, such as line breaks.
            headers[parameter.name] = quote(pairs[0][1], safe=" !#$%&'()*+,/:;=?@[]\"<>{}|^`~")
        else:
            query += pairs
    body = arguments.get(operation.body_argument) if operation.body_argument is not None else None
    return HttpCall(operation.method, url, tuple(query), body, headers, wants_data=True)
