"""Texts between Baton and Slack: escaping, Slack's markup, and pieces that fit a block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

MAX_SECTION = 3_000
"""Characters of a section's text, after escaping (https://docs.slack.dev/reference/block-kit/blocks/section-block)."""

_MARKDOWN = re.compile(
    r"(?P<code>```.*?```|`[^`\n]+`)"
    r"|\[(?P<label>[^\[\]\n]+)\]\((?P<url>https?://[^\s()<>|]+)\)"
    r"|\*\*(?P<bold>[^*\n]+)\*\*"
    r"|^#{1,6}[ \t]+(?P<heading>[^\n]+)$",
    re.DOTALL | re.MULTILINE,
)
_MARKUP = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def escape(text: str) -> str:
    """Return ``text`` so that Slack shows it as it is: nothing in it mentions anybody, and no link has another text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def from_markdown(text: str) -> str:
    """Return an agent's Markdown in Slack's markup: bold text, headings, links and code. The rest is escaped."""

    def convert(match: re.Match[str]) -> str:
        parts = match.groupdict()
        if parts["code"]:
            return escape(parts["code"])
        if parts["url"]:
            return f"<{escape(parts['url'])}|{escape(parts['label']).replace('|', '¦')}>"
        return f"*{escape(parts['bold'] or parts['heading'].replace('**', ''))}*"

    pieces, end = [], 0
    for match in _MARKDOWN.finditer(text):
        pieces += [escape(text[end : match.start()]), convert(match)]
        end = match.end()
    return "".join([*pieces, escape(text[end:])])


def to_plain(text: str) -> str:
    """Return what a person has typed in Slack as plain text: mentions as names, links as addresses, no entities."""

    def convert(match: re.Match[str]) -> str:
        sigil, target, label = match.groups()
        if sigil == "!":
            return "@" + (label or target.partition("^")[0]).removeprefix("@")
        if sigil:
            return sigil + (label or target)
        address = target.removeprefix("mailto:")
        return address if label is None or label == address else f"{label} ({address})"

    plain = _MARKUP.sub(convert, text)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def split(text: str, render: Callable[[str], str] = escape, limit: int = MAX_SECTION) -> Iterator[str]:
    """Yield ``text``, rendered in pieces of at most ``limit`` characters, cut between lines or words if possible."""
    rest = text.strip()
    while rest:
        # Rendering hardly shortens a text. A longer rest is not rendered whole for each piece.
        size = len(rest) if len(rest) <= 4 * limit else _find_cut(rest, limit)
        while len(render(rest[:size])) > limit:
            size = _find_cut(rest, min(limit, size * 3 // 4))
        if piece := rest[:size].strip():
            yield render(piece)
        rest = rest[size:].lstrip()


def shorten(text: str, limit: int) -> str:
    """Return ``text`` on one line with at most ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _find_cut(text: str, longest: int) -> int:
    """Return the position of a cut: after the last line or word that ends in the second half, or else ``longest``."""
    for mark in ("\n", " "):
        at = text.rfind(mark, longest // 2, longest)
        if at > 0:
            return at
    return max(1, longest)
