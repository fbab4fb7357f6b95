"""HTTP operations as tools: their requests, and the results that responses become."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
"""The length of the part of an error's body that the model gets, in characters."""
MAX_LOCATION = 2_048
"""The maximum length of an address at which the state of work is read, in characters."""
CALLBACK, CALLBACK_TOKEN = "Baton-Callback", "Baton-Callback-Token"
"""Headers with the address and the bearer token for the report of a result that comes later."""
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
    may_wait: bool = False
    """Whether a response with the status 202 says that the result comes later."""


@dataclass(frozen=True, slots=True)
class HttpRequests:
    """The sender of HTTP tools' calls."""

    make_client: Callable[[float], httpx.AsyncClient]
    """Returns a client for one call. Its argument is the timeout in seconds."""
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
        """Send the call and return its result. ``scope`` is the scope of the user for whom the call is made.

        ``headers`` are the definition's headers. Their secrets are resolved, and they override the call's headers.
        Raises ``ToolFailed`` if the service refuses the call, or Baton its address, arguments or answer;
        ``Unreachable`` if the service does not answer; and the errors of ``HeaderValues.resolve``.
        """
        definition_headers = await self.headers.resolve(headers, scope)
        async with self.make_client(timeout_seconds + GRACE_SECONDS) as client:
            try:
                merged = httpx.Headers({"Accept": ACCEPT, "User-Agent": "baton"})
                for layer in (call.headers, {"Idempotency-Key": idempotency_key}, definition_headers):
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
        result = await off_loop(len(response.content) * GUESSING, _to_result, response, call)
        if not call.may_wait or response.status_code != 202:
            return result
        return replace(result, is_pending=True, location=_find_task_address(response))


async def _follow(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    """Return the response, after redirects to the same scheme, host and port that keep the method.

    Other redirects are refused, because the request's headers are for that origin only.
    """
    for _ in range(MAX_REDIRECTS + 1):
        response = await client.send(request, follow_redirects=False)
        redirected = response.next_request
        if redirected is None:
            return response
        if redirected.method != request.method or _get_origin(redirected.url) != _get_origin(request.url):
            raise ToolFailed("The service redirects the call to another place, which is not followed.")
        request = redirected
    raise ToolFailed("The service redirects the call again and again.")


def _find_task_address(response: httpx.Response) -> str | None:
    """Return the address at which the state of the work is read; None unless it has the origin of the call."""
    address = response.headers.get("location")
    if not address or len(address) > MAX_LOCATION:
        return None
    try:
        url = response.request.url.join(address)
    except (httpx.InvalidURL, ValueError):
        return None
    return str(url) if _get_origin(url) == _get_origin(response.request.url) else None


def _get_origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _to_result(response: httpx.Response, call: HttpCall) -> ToolResult:
    """Return the response as a result. Raises ``ToolFailed`` or ``Unreachable`` for an error or an unwanted page."""
    status = _make_status_line(response)
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_page = media_type in ("text/html", "application/xhtml+xml")
    if response.status_code >= 400:
        raise _to_failure(response, "" if is_page or not _is_text(media_type) else decode_body(response))
    if call.method == "HEAD":
        header_names = ("content-type", "content-length", "last-modified", "etag")
        headers = {name: response.headers[name] for name in header_names if name in response.headers}
        return ToolResult(json.dumps({"status": response.status_code, **headers}))
    if not response.content:
        return ToolResult(f"Done ({status}).")
    if call.wants_data and is_page:
        raise Unreachable("The service answered with a web page instead of data.")
    if not _is_text(media_type):
        return ToolResult(f"[{media_type or 'unknown content'}, {len(response.content)} bytes, not shown]")
    return ToolResult(decode_body(response))


def _to_failure(response: httpx.Response, body: str) -> ToolFailed:
    """Return the failure of a response with a status of 400 or more. The model gets the beginning of ``body``."""
    excerpt = body.strip()[:EXCERPT]
    message = f"The service answered {_make_status_line(response)}" + (f": {excerpt}" if excerpt else ".")
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
        # The service answers, so circuit breakers do not count it.
        return ToolFailed(f"{message} It is called too often at the moment: try again later.", is_outage=True)
    is_outage = response.status_code >= 500 or response.status_code == httpx.codes.REQUEST_TIMEOUT
    return Unreachable(message) if is_outage else ToolFailed(message)


def _make_status_line(response: httpx.Response) -> str:
    return f"HTTP {response.status_code} {response.reason_phrase}".strip()


def decode_body(response: httpx.Response) -> str:
    """Return the text of a response, in the encoding of its header or of its content."""
    return decode_text(response.content, MediaType.parse(response.headers.get("content-type")))


def _is_text(media_type: str) -> bool:
    return (
        media_type.startswith("text/")
        or media_type.endswith(("+json", "+xml"))
        or media_type in ("", "application/json", "application/xml", "application/x-ndjson", "application/yaml")
    )


METHODS_WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE"})
MAX_DECODINGS = 5
"""The number of levels of percent-encoding that are decoded in a value of an address. Ids have none."""


@dataclass(frozen=True, slots=True)
class HttpTools(ToolSource[HttpTool]):
    """Tools that ``http`` definitions declare. Listing a tool fails only if its host may not be called."""

    requests: HttpRequests
    policy: Callable[[], EgressPolicy]
    """A function that returns the policy with the hosts that may be called now."""

    def find_endpoint(self, definition: HttpTool) -> str | None:
        host = urlsplit(definition.url).netloc.lower()
        if definition.is_always_asked:
            return None
        return f"guardrail:{definition.name} {host}" if definition.is_guardrail else f"http:{host}"

    async def list_tools(self, definition: HttpTool) -> Sequence[SourceTool]:
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
                background=definition.background,
            )
        ]

    async def call(
        self, definition: HttpTool, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        call = _to_request(definition, arguments)
        if definition.background is not None:
            callback = context.callback
            headers = {CALLBACK: callback.url, CALLBACK_TOKEN: callback.token} if callback is not None else {}
            call = replace(call, may_wait=True, headers=headers)
        return await self._send(call, definition, context)

    async def read_task(
        self, definition: HttpTool, location: str, context: CallContext, *, deletes: bool
    ) -> ToolResult:
        # The definition's headers may hold secrets, and are for its origin only.
        if _get_origin(httpx.URL(location)) != _get_origin(httpx.URL(get_template_origin(definition.url))):
            raise ToolFailed("The address of the work is not at the tool's host.", is_refused=True)
        method = "DELETE" if deletes else "GET"
        return await self._send(HttpCall(method, location, may_wait=True), definition, context)

    async def _send(self, call: HttpCall, definition: HttpTool, context: CallContext) -> ToolResult:
        """Send a call with the definition's headers and time limit. Raises as ``HttpRequests.send`` does."""
        return await self.requests.send(
            call,
            definition.headers,
            scope=context.scope,
            idempotency_key=context.idempotency_key,
            timeout_seconds=definition.timeout_seconds,
        )


def get_template_origin(template: str) -> str:
    """Return the scheme and the host of a definition's address, which have no placeholders."""
    parts = urlsplit(template)
    return f"{parts.scheme}://{parts.netloc}/"


def _to_request(definition: HttpTool, arguments: Mapping[str, Any]) -> HttpCall:
    """Return the request of a call: arguments without a placeholder become the query or the body."""
    url, remaining = fill_placeholders(definition.url, arguments)
    if definition.method in METHODS_WITHOUT_BODY:
        return HttpCall(definition.method, url, query=tuple(make_query_pairs(remaining)))
    placeholders = set(PLACEHOLDER.findall(definition.url))
    expects_body = bool(remaining) or bool(set(definition.parameters.get("properties", {})) - placeholders)
    return HttpCall(definition.method, url, body=remaining if expects_body else None)


def fill_placeholders(template: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Fill the placeholders of ``template``, percent-encoded. Return the result and the remaining arguments.

    Raises ``ToolFailed`` for a value that is not text, number or boolean, or that changes the path: an empty segment,
    ``.`` or ``..``, at any level of encoding, even between slashes within the value.
    """
    remaining = dict(arguments)
    names = dict.fromkeys(PLACEHOLDER.findall(template))
    values = {name: to_address_text(remaining.pop(name, None), name) for name in names}
    url = PLACEHOLDER.sub(lambda match: quote(values[match[1]], safe=""), template)
    declared_segments, segments = (urlsplit(text).path.split("/") for text in (template, url))
    for declared, segment in zip(declared_segments, segments, strict=True):
        if declared != segment and _may_change_path(segment):
            raise ToolFailed(
                f"The value {segment[:100]!r} cannot stand in the address; give the id of something that exists.",
                is_refused=True,
            )
    return url, remaining


def _may_change_path(segment: str) -> bool:
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


def to_address_text(value: Any, name: str) -> str:
    """Return ``value`` as text for an address.

    Raises ``ToolFailed`` with the argument's ``name`` unless it is a text that can be encoded, a number or a boolean.
    """
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


def make_query_pairs(arguments: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield ``arguments`` as a query: lists repeat their name, objects become JSON, None is left out.

    Raises ``ToolFailed`` as ``to_address_text`` does.
    """
    for name, value in arguments.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict | list):
                yield name, json.dumps(item)
            elif item is not None:
                yield name, to_address_text(item, name)
