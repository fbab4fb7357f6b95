"""Markdown: blocks by their source, so that they are quoted as they were written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from baton.adapters.extraction.plain_text import decoded, paragraphs
from baton.domain.extracted import BlockKind, ExtractedText, TextBlock

_LINES_AT_ONCE = 2_000
"""A longer document is parsed in pieces that begin with headings: parsed, a text takes many times its own memory."""
_MOST_LINES = 20_000
"""Lines of a piece without a heading. Longer ones are read as plain text."""
_HEADING = re.compile(r"#{1,6}\s")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FRONT_MATTER = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)
_TITLE = re.compile(r"^title:(.*)$", re.MULTILINE)
_KINDS = {
    "paragraph_open": BlockKind.PARAGRAPH,
    "blockquote_open": BlockKind.PARAGRAPH,
    "html_block": BlockKind.PARAGRAPH,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "table_open": BlockKind.TABLE,
}


def extract(body: bytes) -> ExtractedText:
    """Return headings, paragraphs, items of lists, tables and code."""
    text = decoded(body)
    title = None
    if front := _FRONT_MATTER.match(text):
        found = _TITLE.search(front[1])
        title, text = _unquoted(found[1]) if found else None, text[front.end() :]
    parser = MarkdownIt("commonmark").enable("table")
    blocks = [block for piece in _pieces(text.split("\n")) for block in _blocks(parser, piece)]
    if title is None:
        title = next((block.text for block in blocks if block.level == 1), None)
    return ExtractedText(tuple(blocks), title)


def _unquoted(value: str) -> str | None:
    return value.strip().strip("\"'").strip() or None


def _pieces(lines: list[str]) -> Iterator[list[str]]:
    start, fence = 0, ""
    for number, line in enumerate(lines):
        if found := _FENCE.match(line):
            if not fence:
                fence = found[1]
            elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif not fence and number - start >= _LINES_AT_ONCE and _HEADING.match(line):
            yield lines[start:number]
            start = number
    yield lines[start:]


def _blocks(parser: MarkdownIt, lines: list[str]) -> Iterator[TextBlock]:
    if len(lines) > _MOST_LINES:
        yield from paragraphs("\n".join(lines))
        return
    tokens = parser.parse("\n".join(lines))
    for place, token in enumerate(tokens):
        if token.map is None:
            continue
        is_item = token.type == "list_item_open" and token.level == 1
        if token.level > 0 and not is_item:
            continue
        if token.type == "heading_open":
            text = tokens[place + 1].content.strip()
            if text:
                yield TextBlock(BlockKind.HEADING, text, level=int(token.tag[1]))
            continue
        kind = BlockKind.LIST_ITEM if is_item else _KINDS.get(token.type)
        text = _source(token, lines) if kind is not None else ""
        if kind is not None and text:
            yield TextBlock(kind, text)


def _source(token: Token, lines: list[str]) -> str:
    first, end = token.map or (0, 0)
    return "\n".join(lines[first:end]).strip("\n").rstrip()
