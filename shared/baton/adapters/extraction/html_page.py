"""Web pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from baton.adapters.extraction import refusals
from baton.adapters.extraction.plain_text import decoded
from baton.adapters.extraction.tables import table_text
from baton.domain.extracted import BlockKind, ExtractedText, TextBlock

MAX_DEPTH = 1_000
"""Elements inside each other. The time to build a tree grows with the square of its depth."""
_LEFT_OUT = (
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "nav", "footer", "select",
    "button", "textarea", "dialog",
)  # fmt: skip
# fmt: off
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr",
    "html", "legend", "li", "main", "menu", "ol", "p", "pre", "section", "summary", "table", "tbody", "td",
    "tfoot", "th", "thead", "tr", "ul",
})
# fmt: on
_BREAK = "\0"
"""Stands for a line break, and is in no text."""
_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([A-Za-z0-9_-]+)""", re.IGNORECASE)
_TAG = re.compile(rb"<(/?)([A-Za-z][A-Za-z0-9]*)")
_UNCOUNTED = frozenset(
    b"area base br col embed hr img input link meta param source track wbr p li dt dd option optgroup tr td th tbody"
    b" thead tfoot colgroup caption html head body rb rt rp rtc".split()
)
"""Elements that are empty, or end without an end tag."""


def extract(body: bytes) -> ExtractedText:
    """Return headings, paragraphs, items of lists, tables and preformatted text, without what leads elsewhere."""
    _check_depth(body)
    declared = _CHARSET.search(body[:4096])
    parser = LexborHTMLParser(decoded(body, declared[1].decode("ascii") if declared else None))
    title = parser.css_first("title")
    heading = title.text(strip=True) if title is not None else ""
    for name in _LEFT_OUT:
        for node in parser.css(name):
            node.decompose()
    root = parser.body
    return ExtractedText(tuple(_blocks(root)) if root is not None else (), " ".join(heading.split()) or None)


def _check_depth(body: bytes) -> None:
    depth = 0
    for found in _TAG.finditer(body):
        if found[2].lower() not in _UNCOUNTED:
            depth = max(0, depth - 1) if found[1] else depth + 1
            if depth > MAX_DEPTH:
                raise refusals.too_deep()


def _blocks(root: Any) -> Iterator[TextBlock]:
    """Yield blocks in the order of reading. The text between the borders of block elements is one."""
    parts: list[str] = []
    inside: list[str] = []
    node = root
    while node is not None:
        tag = node.tag
        is_whole = tag == "pre" or (tag == "table" and _is_data(node))
        ended: list[str] = []
        if tag == "-text":
            parts.append(node.text_content or "")
        elif tag == "br":
            parts.append(_BREAK)
        elif tag in _BLOCKS:
            yield from _flushed(parts, inside)
            if is_whole:
                yield from _whole(node)
            else:
                inside.append(tag)
                ended.append(tag)
        if node.child is not None and tag != "-text" and not is_whole:
            node = node.child
            continue
        node = _next(node, root, ended)
        for each in ended:
            yield from _flushed(parts, inside)
            if inside and inside[-1] == each:
                inside.pop()
    yield from _flushed(parts, inside)


def _next(node: Any, root: Any, ended: list[str]) -> Any:
    """Return the node after ``node`` and what is in it; note the block elements that end in between."""
    while node is not None and node.mem_id != root.mem_id:
        if node.next is not None:
            return node.next
        node = node.parent
        if node is not None and node.tag in _BLOCKS:
            ended.append(node.tag)
    return None


def _flushed(parts: list[str], inside: list[str]) -> Iterator[TextBlock]:
    lines = "".join(parts).split(_BREAK)
    parts.clear()
    text = "\n".join(filter(None, (" ".join(line.split()) for line in lines)))
    if not text:
        return
    heading = next((tag for tag in reversed(inside) if re.fullmatch("h[1-6]", tag)), None)
    if heading is not None:
        yield TextBlock(BlockKind.HEADING, text, level=int(heading[1]))
    elif "li" in inside:
        yield TextBlock(BlockKind.LIST_ITEM, text)
    else:
        yield TextBlock(BlockKind.PARAGRAPH, text)


def _is_data(table: Any) -> bool:
    """Return whether a table holds data, and is not there for the layout of a page."""
    return table.css_first("table table, h1, h2, h3, ul, ol, pre") is None and table.css_first("td, th") is not None


def _whole(node: Any) -> Iterator[TextBlock]:
    if node.tag == "pre":
        text = node.text().strip("\n").rstrip()
        if text:
            yield TextBlock(BlockKind.CODE, text)
        return
    text = table_text([cell.text(separator=" ") for cell in row.css("td, th")] for row in node.css("tr"))
    if text:
        yield TextBlock(BlockKind.TABLE, text)
