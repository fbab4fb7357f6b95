"""Convert answers of MCP servers to results of the ``Tools`` port."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as types

from baton.domain.web_url import is_web_url
from baton.ports.agents.tools import ToolFailed, ToolResult

EXCERPT = 1000
"""Characters of an error that the model gets."""


def as_result(answer: types.CallToolResult) -> ToolResult:
    """Return the answer's texts, then its structured content unless the texts contain it. Links become sources.

    Raises ``ToolFailed`` with the server's message for an error.
    """
    texts: list[str] = []
    sources: list[Mapping[str, Any]] = []
    for block in answer.content:
        text, source = _text_and_meta(block)
        if text:
            texts.append(text)
        if source is not None:
            sources.append(source)
    structured = answer.structured_content
    if structured is not None and not _repeats(structured, texts):
        texts.append(json.dumps(structured, ensure_ascii=False))
    text = "\n".join(texts)
    if answer.is_error:
        raise ToolFailed(text[:EXCERPT] or "The tool failed and did not say why.")
    return ToolResult(text, tuple(sources))


def _text_and_meta(block: types.ContentBlock) -> tuple[str, Mapping[str, Any] | None]:
    if isinstance(block, types.TextContent):
        return block.text, None
    if isinstance(block, types.ImageContent | types.AudioContent):
        return f"[{block.type}, {block.mime_type}, {len(block.data) * 3 // 4} bytes, not shown]", None
    if isinstance(block, types.ResourceLink):
        title = block.title or block.name
        about = f": {block.description}" if block.description else ""
        return f"[{title}]({block.uri}){about}", _source(str(block.uri), title)
    uri = str(block.resource.uri)
    if isinstance(block.resource, types.TextResourceContents):
        return block.resource.text, _source(uri, uri)
    return f"[{block.resource.mime_type or 'file'}, {uri}, not shown]", _source(uri, uri)


def _source(uri: str, title: str) -> Mapping[str, Any]:
    source = {"kind": "resource", "id": uri, "title": title}
    return {**source, "url": uri} if is_web_url(uri) else source


def _repeats(structured: Mapping[str, Any], texts: Sequence[str]) -> bool:
    """Return whether the texts are the serialised structured content, which the protocol asks servers to add."""
    if not texts:
        return False
    if set(structured) == {"result"}:  # how SDKs wrap what is not an object; its text is the bare value
        return True
    for text in (texts[0], "".join(texts)):
        try:
            if json.loads(text) == structured:
                return True
        except (ValueError, RecursionError):
            continue
    return False
