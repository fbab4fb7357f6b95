"""What a page calls itself, for its document's title."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from baton.knowledge.document_rules import MAX_NAME_BYTES, MAX_TITLE

_BEGINNING = 64 * 1024
"""Bytes in which a title is looked for."""


def title_of(url: str, content_type: str, body: bytes) -> str:
    """Return the title of an HTML or Markdown page; otherwise, or without one, the end of its address."""
    beginning = body[:_BEGINNING].decode("utf-8", "replace")
    found = None
    if content_type in ("text/html", "application/xhtml+xml"):
        found = _html_title(beginning)
    elif content_type == "text/markdown" and (heading := re.search(r"^# +([^\n]{1,1000})$", beginning, re.MULTILINE)):
        found = heading[1]
    printable = "".join(c if c.isprintable() else " " for c in found or "")
    return " ".join(printable.split())[:MAX_TITLE] or name_of(url)[:MAX_TITLE]


def path_of(url: str) -> str:
    """Return the path of an address; of an object, its key."""
    if url.startswith("s3://"):
        return "/" + url.removeprefix("s3://").partition("/")[2]
    return unquote(urlsplit(url).path, errors="replace")


def name_of(url: str) -> str:
    """Return the name of a page's file: the last segment of its path, or its host."""
    name = PurePosixPath(path_of(url)).name or urlsplit(url).netloc
    name = "".join(c for c in name if c.isprintable()) or "page"
    while len(name.encode()) > MAX_NAME_BYTES:
        name = name[:-1]
    return name


class _Title(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: str | None = None
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_inside = tag == "title" and self.title is None

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = False

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.title = (self.title or "") + data


def _html_title(text: str) -> str | None:
    parser = _Title()
    parser.feed(text)
    return parser.title
