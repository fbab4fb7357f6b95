"""Answers of MCP servers: repairs, results for the ``Tools`` port, and failures of requests.

An optional member of the wrong form is dropped, so that the rest of the answer or of the list can be used.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
from mcp import MCPError
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, ValidationError

from baton.adapters.egress import EgressRefused, ResponseTooLarge
from baton.adapters.tools.tool_source import Unreachable
from baton.domain.web_url import is_web_url
from baton.ports.agents.tools import ToolFailed, ToolResult

EXCERPT = 1000
"""The length of the part of an error that the model gets, in characters."""
REFUSALS = frozenset({types.INVALID_PARAMS, types.METHOD_NOT_FOUND})
SESSION_HEADER = "mcp-session-id"
_UNKNOWN_TOOL = re.compile(r"unknown tool|no such tool|not found|does not exist|not available|disabled", re.IGNORECASE)
_TRANSPORT_MESSAGE = re.compile(r"SSE stream|Connection closed|server answered a request|Redirect to ", re.IGNORECASE)
"""Messages of the SDK's own errors, which it raises if a server does not answer."""
MAX_UNKNOWN = 300
"""The maximum length of a server's message that a tool is unknown, in characters. Longer texts are a tool's results."""


def to_result(answer: types.CallToolResult) -> ToolResult:
    """Return a result with the answer's texts, then its structured content unless the texts contain it.

    Links and embedded resources become sources. Raises ``ToolFailed`` with the server's message for an error.
    """
    texts: list[str] = []
    sources: list[Mapping[str, Any]] = []
    for block in answer.content:
        text, source = _read_block(block)
        if text:
            texts.append(text)
        if source is not None:
            sources.append(source)
    structured = answer.structured_content
    if structured is not None and not _is_in_texts(structured, texts):
        texts.append(json.dumps(structured, ensure_ascii=False))
    text = "\n".join(texts)
    if answer.is_error:
        raise ToolFailed(text[:EXCERPT] or "The tool failed and did not say why.")
    return ToolResult(text, tuple(sources))


def _read_block(block: types.ContentBlock) -> tuple[str, Mapping[str, Any] | None]:
    """Return the text of a block for the model, and the source that it names, if any."""
    if isinstance(block, types.TextContent):
        return block.text, None
    if isinstance(block, types.ImageContent | types.AudioContent):
        return f"[{block.type}, {block.mime_type}, {len(block.data) * 3 // 4} bytes, not shown]", None
    if isinstance(block, types.ResourceLink):
        title = block.title or block.name
        about = f": {block.description}" if block.description else ""
        return f"[{title}]({block.uri}){about}", _to_source(str(block.uri), title)
    uri = str(block.resource.uri)
    if isinstance(block.resource, types.TextResourceContents):
        return block.resource.text, _to_source(uri, uri)
    return f"[{block.resource.mime_type or 'file'}, {uri}, not shown]", _to_source(uri, uri)


def _to_source(uri: str, title: str) -> Mapping[str, Any]:
    source = {"kind": "resource", "id": uri, "title": title}
    return {**source, "url": uri} if is_web_url(uri) else source


def _is_in_texts(structured: Mapping[str, Any], texts: Sequence[str]) -> bool:
    """Return whether the texts are the structured content as JSON, which the protocol asks servers to send too."""
    if not texts:
        return False
    if set(structured) == {"result"}:
        # Structured content has to be an object, so SDKs wrap other values like this. The text is the bare value.
        return True
    for text in (texts[0], "".join(texts)):
        try:
            if json.loads(text) == structured:
                return True
        except (ValueError, RecursionError):
            continue
    return False


class SessionLost(Unreachable):
    """The server does not know the session any more. The call has had no effect, and needs another session."""


class LastAnswer:
    """The HTTP status of the answer to a session's last request.

    Answers to notifications, to the stream of the server's own messages and to the end of the session are ignored:
    they arrive in any order and say nothing about the request.
    """

    def __init__(self) -> None:
        self.status = 0
        """The status; 0 without an answer."""
        self.had_session = False
        """Whether the request named a session."""

    async def record(self, response: httpx2.Response) -> None:
        """Record the status if the response answers a request. It is a hook of the HTTP client."""
        if response.request.method == "POST" and _is_request(response.request.content):
            self.status = response.status_code
            self.had_session = SESSION_HEADER in response.request.headers

    def is_refusal(self, error: Exception) -> bool:
        """Return whether ``error`` is the server's refusal of the call: it does not know the tool or its arguments."""
        is_protocol_status = self.status <= 400  # version 2026-07-28 refuses with 400, earlier ones with 200
        return is_protocol_status and any(
            isinstance(cause, MCPError) and cause.error.code in REFUSALS for cause in list_causes(error)
        )


def is_unknown_tool(message: str, own_name: str) -> bool:
    """Return whether a tool's error says that its server has no such tool. Servers have no common code for it."""
    return len(message) <= MAX_UNKNOWN and own_name in message and _UNKNOWN_TOOL.search(message) is not None


def to_tool_failure(error: Exception, answer: LastAnswer) -> ToolFailed:
    """Return a session's failure as ``ToolFailed``. ``answer`` is the answer to the request that has failed."""
    causes = list(list_causes(error))
    for cause in causes:
        if isinstance(cause, ToolFailed):
            return cause
        if isinstance(cause, EgressRefused):
            return ToolFailed(f"The call is not allowed: {cause}")
        if isinstance(cause, ResponseTooLarge):
            return ToolFailed(f"{cause} Ask for less at a time, if the tool can.")
    errors = [cause.error for cause in causes if isinstance(cause, MCPError)]
    if answer.is_refusal(error):
        return ToolFailed(next(refusal.message for refusal in errors if refusal.code in REFUSALS)[:EXCERPT])
    if answer.status >= 400:
        return _to_status_failure(answer, errors)
    for cause in causes:
        if isinstance(cause, httpx2.TimeoutException | TimeoutError):
            return Unreachable("The server did not answer in time.")
    for reported in errors:
        failure = _to_error_failure(reported)
        if failure is not None:
            return failure
    if any(isinstance(cause, httpx2.HTTPError | OSError) for cause in causes):
        return Unreachable("The server cannot be reached, or broke off its answer.")
    return Unreachable("The server's answer cannot be understood, or broke off.")


def _to_status_failure(answer: LastAnswer, errors: list[types.ErrorData]) -> ToolFailed:
    """Return the failure of a request that was answered with a status of 400 or more."""
    status = answer.status
    if status in (401, 403):
        return ToolFailed(f"The server does not accept Baton's credentials (HTTP {status}).")
    if status == 429:
        return ToolFailed("The server is called too often at the moment: try again later.", is_outage=True)
    if answer.had_session and (
        status == 404 or (status == 400 and any("session" in error.message.lower() for error in errors))
    ):
        # Some servers answer 400 where the protocol has 404.
        return SessionLost("The server has lost the session, and another one too.")
    if status >= 500:
        return Unreachable(f"The server failed (HTTP {status}).")
    return Unreachable(f"The server refuses the request (HTTP {status}).")


def _to_error_failure(reported: types.ErrorData) -> ToolFailed | None:
    """Return the failure for a JSON-RPC error of the server or of the SDK; None if the error names no cause."""
    if reported.code == types.REQUEST_TIMEOUT:
        return Unreachable("The server did not answer in time.")
    if "SSE stream failed" in reported.message:
        return ToolFailed("The server's answer is too long, or garbled. Ask for less at a time, if the tool can.")
    if "content type" in reported.message:
        return Unreachable("The server answered with something that is not MCP, a web page perhaps.")
    if reported.code == types.INTERNAL_ERROR:
        return Unreachable(f"The server failed: {reported.message}"[:EXCERPT])
    if reported.code in (types.PARSE_ERROR, types.INVALID_REQUEST) or _TRANSPORT_MESSAGE.search(reported.message):
        return None
    return ToolFailed(reported.message[:EXCERPT] or "The server refuses the call and does not say why.")


def _is_request(body: bytes) -> bool:
    """Return whether the body of a POST is a request, which is answered, and not a notification or response."""
    try:
        message = json.loads(body)
    except ValueError:
        return False
    return isinstance(message, dict) and "method" in message and "id" in message


def list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors in a group, with those that caused them, each of them once."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()  # a cause is usually the context too, so that the paths to an error double with each cause
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, BaseExceptionGroup):
            waiting += reversed(current.exceptions)
        else:
            yield current
            waiting += [inner for inner in (current.__context__, current.__cause__) if inner is not None]


Received = SessionMessage | Exception

BLOCKS: Mapping[Any, type[BaseModel]] = {
    "text": types.TextContent,
    "image": types.ImageContent,
    "audio": types.AudioContent,
    "resource": types.EmbeddedResource,
    "resource_link": types.ResourceLink,
}
"""The model of each kind of content."""
UNUSED = frozenset({"outputSchema", "icons"})
"""Members of tools that Baton does not read, but the SDK checks."""


@asynccontextmanager
async def repair_results(transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[Any, None]:
    """Open ``transport``, and repair the results that it receives."""
    async with transport as (received, sent):
        yield _RepairedStream(received), sent


_OPTIONAL_MEMBERS: Mapping[str, type] = {"isError": bool, "nextCursor": str, "_meta": dict}
"""Optional members of results, and their forms."""


def repair_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result of ``tools/list`` or ``tools/call`` without optional members of the wrong form.

    Tools without a name or without an object schema are left out. Content of the wrong form is replaced by a text that
    says so. Structured content that is not an object becomes one, as its member ``result``; null is dropped.
    """
    fields = {
        name: value
        for name, value in result.items()
        if name not in _OPTIONAL_MEMBERS or isinstance(value, _OPTIONAL_MEMBERS[name])
    }
    if isinstance(fields.get("tools"), list):
        fields["tools"] = [tool for raw in fields["tools"] if (tool := _repair_tool(raw)) is not None]
    if isinstance(fields.get("content"), list):
        fields["content"] = [_repair_block(raw) for raw in fields["content"]]
    if "structuredContent" in fields and not isinstance(fields["structuredContent"], dict):
        value = fields.pop("structuredContent")
        if value is not None:
            fields["structuredContent"] = {"result": value}
    return fields


def _repair_tool(value: Any) -> dict[str, Any] | None:
    """Return a tool without wrong optional members; None if it cannot be used.

    Null members of the tool's schema are dropped: servers write them for members without a value.
    """
    if not isinstance(value, dict):
        return None
    tool = _drop_wrong_members({name: member for name, member in value.items() if name not in UNUSED}, types.Tool)
    if tool is None:
        return None
    schema = {"type": "object", **{key: part for key, part in tool["inputSchema"].items() if part is not None}}
    forms = {"properties": dict, "required": list}
    is_usable = schema["type"] == "object" and all(
        isinstance(schema.get(key, form()), form) for key, form in forms.items()
    )
    return {**tool, "inputSchema": schema} if is_usable else None


def _repair_block(value: Any) -> Any:
    """Return a block of content without wrong optional members, or a text that stands for one that cannot be used."""
    kind = value.get("type") if isinstance(value, dict) else None
    model = BLOCKS.get(kind) if isinstance(kind, str) else None
    block = _drop_wrong_members(value, model) if model is not None else None
    return block if block is not None else {"type": "text", "text": "[Content of a kind that is not understood here.]"}


def _drop_wrong_members(value: Any, model: type[BaseModel]) -> dict[str, Any] | None:
    """Return an object of the protocol without its optional members that do not fit ``model``.

    Return None if ``value`` is not an object, or a required member is wrong or missing.
    """
    try:
        model.model_validate(value, by_name=False)
    except ValidationError as error:
        wrong = {error["loc"][0] if error["loc"] else None for error in error.errors()}
        required = {field.alias or name for name, field in model.model_fields.items() if field.is_required()}
        if None in wrong or wrong & required:
            return None
        return {name: member for name, member in value.items() if name not in wrong}
    valid: dict[str, Any] = value
    return valid


class _RepairedStream:
    """A stream of received messages, whose results are repaired."""

    def __init__(self, received: Any) -> None:
        self._received = received

    @property
    def last_context(self) -> Any:
        return getattr(self._received, "last_context", None)

    async def receive(self) -> Received:
        return _repair_message(await self._received.receive())

    async def aclose(self) -> None:
        await self._received.aclose()

    def __aiter__(self) -> _RepairedStream:
        return self

    async def __anext__(self) -> Received:
        return _repair_message(await self._received.__anext__())

    async def __aenter__(self) -> _RepairedStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _repair_message(received: Received) -> Received:
    """Repair the result in a received message, if it has one, and return the message."""
    message = received.message if isinstance(received, SessionMessage) else None
    if isinstance(message, types.JSONRPCResponse):
        message.result = repair_result(message.result)
    return received
