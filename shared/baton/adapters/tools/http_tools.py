"""HTTP operations as tools: their requests, and the results that responses become."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx

from baton.adapters.egress import EgressPolicy, EgressRefused, ResponseTooLarge
from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.tool_source import GRACE_SECONDS, SourceTool, ToolSource, Unreachable
from baton.concurrency.tasks import off_loop
from baton.domain.agents.tool import PLACEHOLDER, HttpTool
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.secret import HeaderValue
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult
from baton_documents.encodings.text_encoding import GUESSING, decode_text
from baton_documents.media_types import MediaType

MAX_REDIRECTS = 5
EXCERPT = 600
"""Characters of an error's body that the model gets."""
ACCEPT = "application/json, text/*;q=0.9, */*;q=0.5"


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One request."""

    method: str
    url: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    """The body, sent as JSON unless it is None."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers from the model's arguments. The definition's headers override them."""
    wants_data: bool = False
    """Whether an HTML response is a failure."""


@dataclass(frozen=True, slots=True)
class HttpRequests:
    """A client of HTTP tools. ``make_client`` returns a client for one call, given its timeout in seconds."""

    make_client: Callable[[float], httpx.AsyncClient]
    headers: HeaderValues

    async def send(
        self,
        call: HttpCall,
        headers: Mapping[str, HeaderValue],
        *,
        scope: Scope,
        idempotency_key: str,
        timeout_seconds: float,
    ) -> ToolResult:
        """Return the answer's text. ``scope`` is the user's for whom the call is made.

        Raises ``ToolFailed`` if the service refuses the call, or Baton its address, arguments or answer;
        ``Unreachable`` if the service does not answer; and the errors of ``HeaderValues.resolve``.
        """
        own = await self.headers.resolve(headers, scope)
        async with self.make_client(timeout_seconds + GRACE_SECONDS) as client:
            try:
                merged = httpx.Headers({"Accept": ACCEPT, "User-Agent": "baton"})
                for layer in (call.headers, {"Idempotency-Key": idempotency_key}, own):
                    merged.update(layer)
                url = httpx.URL(call.url).copy_merge_params(call.query) if call.query else call.url
                request = client.build_request(call.method, url, json=call.body, headers=merged)
                response = await _follow(client, request)
            except EgressRefused as error:
                raise ToolFailed(f"The call is not allowed: {error}") from error
            except ResponseTooLarge as error:
                raise ToolFailed(f"{error} Ask for less at a time, if the tool can.") from error
            except httpx.TimeoutException as error:
                raise Unreachable("The service did not answer in time.") from error
            except (httpx.LocalProtocolError, httpx.InvalidURL, ValueError) as error:
                raise ToolFailed("The arguments cannot be sent: they make no valid request.") from error
            except httpx.HTTPError as error:
                raise Unreachable("The service cannot be reached, or broke off its answer.") from error
        return await off_loop(len(response.content) * GUESSING, _result, response, call)


async def _follow(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    """Return the response, after redirects to the same scheme, host and port that keep the method.

    Other redirects are refused, because the request's headers are for that origin only.
    """
    for _ in range(MAX_REDIRECTS):
        response = await client.send(request, follow_redirects=False)
        onwards = response.next_request
        if onwards is None:
            return response
        if onwards.method != request.method or _origin(onwards.url) != _origin(request.url):
            raise ToolFailed("The service redirects the call to another place, which is not followed.")
        request = onwards
    raise ToolFailed("The service redirects the call again and again.")


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _result(response: httpx.Response, call: HttpCall) -> ToolResult:
    status = f"HTTP {response.status_code} {response.reason_phrase}".strip()
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_page = kind in ("text/html", "application/xhtml+xml")
    if response.status_code >= 400:
        excerpt = "" if is_page or not _is_text(kind) else text_of(response).strip()[:EXCERPT]
        message = f"The service answered {status}" + (f": {excerpt}" if excerpt else ".")
        if response.status_code == 429:
            raise ToolFailed(f"{message} It is called too often at the moment: try again later.")
        raise Unreachable(message) if response.status_code >= 500 else ToolFailed(message)
    if call.method == "HEAD":
        header_names = ("content-type", "content-length", "last-modified", "etag")
        facts = {name: response.headers[name] for name in header_names if name in response.headers}
        return ToolResult(json.dumps({"status": response.status_code, **facts}))
    if not response.content:
        return ToolResult(f"Done ({status}).")
    if call.wants_data and is_page:
        raise Unreachable("The service answered with a web page instead of data.")
    if not _is_text(kind):
        return ToolResult(f"[{kind or 'unknown content'}, {len(response.content)} bytes, not shown]")
    return ToolResult(text_of(response))


def text_of(response: httpx.Response) -> str:
    """Return the text of a response, in the encoding of its header or of its content."""
    return decode_text(response.content, MediaType.parse(response.headers.get("content-type")))


def _is_text(kind: str) -> bool:
    return (
        kind.startswith("text/")
        or kind.endswith(("+json", "+xml"))
        or kind in ("", "application/json", "application/xml", "application/x-ndjson", "application/yaml")
    )


WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE"})
MAX_DECODINGS = 5
"""Levels of percent-encoding that are decoded in a value of an address. Ids have none."""


@dataclass(frozen=True, slots=True)
class HttpTools(ToolSource[HttpTool]):
    """Tools that ``http`` definitions declare. A failure of a definition is a setting of the deployment."""

    requests: HttpRequests
    policy: Callable[[], EgressPolicy]
    """Returns the hosts that may be called now."""

    def endpoint(self, definition: HttpTool) -> str | None:
        host = urlsplit(definition.url).netloc.lower()
        if definition.is_always_asked:
            return None
        return f"guardrail:{definition.name} {host}" if definition.is_guardrail else f"http:{host}"

    async def tools(self, definition: HttpTool) -> Sequence[SourceTool]:
        try:
            self.policy().check_url(definition.url)
        except EgressRefused as error:
            raise ToolFailed(str(error)) from error
        return [
            SourceTool(
                definition.name,
                definition.description,
                definition.parameters,
                definition.requires_approval,
                definition.label,
                definition.asks,
            )
        ]

    async def call(
        self, definition: HttpTool, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        return await self.requests.send(
            _call(definition, arguments),
            definition.headers,
            scope=context.scope,
            idempotency_key=context.idempotency_key,
            timeout_seconds=definition.timeout_seconds,
        )


def _call(definition: HttpTool, arguments: Mapping[str, Any]) -> HttpCall:
    url, rest = filled(definition.url, arguments)
    if definition.method in WITHOUT_BODY:
        return HttpCall(definition.method, url, query=tuple(query_of(rest)))
    placeholders = set(PLACEHOLDER.findall(definition.url))
    expects_body = bool(rest) or bool(set(definition.parameters.get("properties", {})) - placeholders)
    return HttpCall(definition.method, url, body=rest if expects_body else None)


def filled(template: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Fill the placeholders of ``template``, percent-encoded. Returns the result and the remaining arguments.

    Raises ``ToolFailed`` for a value that is not text, number or boolean, or that changes the path: an empty segment,
    ``.`` or ``..``, at any level of encoding, also between slashes within the value.
    """
    rest = dict(arguments)
    values = {name: scalar(rest.pop(name, None), name) for name in dict.fromkeys(PLACEHOLDER.findall(template))}
    url = PLACEHOLDER.sub(lambda match: quote(values[match[1]], safe=""), template)
    before, after = (urlsplit(text).path.split("/") for text in (template, url))
    for declared, segment in zip(before, after, strict=True):
        if declared != segment and _leads_elsewhere(segment):
            raise ToolFailed(
                f"The value {segment[:100]!r} cannot stand in the address; give the id of something that exists.",
                is_refused=True,
            )
    return url, rest


def _leads_elsewhere(segment: str) -> bool:
    """Return whether a server that decodes the segment, perhaps repeatedly, may read it as a change of the path."""
    decoded = segment
    for _ in range(MAX_DECODINGS):
        before, decoded = decoded, unquote(decoded)
        if before == decoded:
            break
    else:
        return True
    # Parameters (";v=1") and white space at the ends are dropped by some servers before they resolve the dots.
    names = (part.partition(";")[0].strip() for part in re.split(r"[/\\]", decoded))
    return any(name in ("", ".", "..") for name in names)


def scalar(value: Any, name: str) -> str:
    """Return ``value`` as text for an address. Raises ``ToolFailed`` unless it is a text, a number or a boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise ToolFailed(f"The argument {name} must be a text or a number.", is_refused=True)
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolFailed(f"The argument {name} holds characters that cannot be sent.", is_refused=True) from None
    return text


def query_of(arguments: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield ``arguments`` as a query: lists repeat their name, objects become JSON, None is left out."""
    for name, value in arguments.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict | list):
                yield name, json.dumps(item)
            elif item is not None:
                yield name, scalar(item, name)
