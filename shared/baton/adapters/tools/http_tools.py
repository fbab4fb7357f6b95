"""Single HTTP operations as tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from baton.adapters.egress import EgressPolicy, EgressRefused
from baton.adapters.tools.http_requests import HttpCall, HttpRequests
from baton.adapters.tools.tool_source import SourceTool, ToolSource
from baton.domain.agents.tool import PLACEHOLDER, HttpTool
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult

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
        parts = urlsplit(definition.url)
        try:
            policy = self.policy()
            policy.check_scheme(parts.scheme, parts.hostname or "")
            policy.check_host(parts.hostname or "")
        except EgressRefused as error:
            raise ToolFailed(str(error)) from error
        return [
            SourceTool(definition.name, definition.description, definition.parameters, definition.requires_approval)
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
