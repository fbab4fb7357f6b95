"""The title that a page gives itself, for its document."""

from __future__ import annotations

import html
import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from baton.domain.document import MEDIA_TYPES, DocumentFormat
from baton.domain.media_types import HTML, MediaType, is_page
from baton.domain.text_encoding import find_encoding
from baton.knowledge.document_rules import MAX_NAME_BYTES, MAX_TITLE

_BEGINNING = 64 * 1024
"""Bytes in which a title is looked for."""
_TITLE = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|svg|template)\b.*?(?:</\1|\Z)"
    r"|<title\b[^>]{0,1000}+>((?:[^<]|<(?!/title)){0,2000})",
    re.IGNORECASE | re.DOTALL,
)
"""The title, and elements in which the same tag is none."""
_HEADING = re.compile(r"^# ++([^\n]{1,1000})$", re.MULTILINE)


def find_title(url: str, media_type: MediaType, body: bytes) -> str:
    """Return the title of an HTML or Markdown page; otherwise, or without one, the end of its address.

    It is decoded as the text of the page is.
    """
    found = None
    match MEDIA_TYPES.get(media_type.essence):
        case DocumentFormat.HTML:
            found = _html_title(_beginning(media_type, body))
        case DocumentFormat.MARKDOWN if heading := _HEADING.search(_beginning(media_type, body)):
            found = heading[1]
        case None if is_page(body):
            found = _html_title(_beginning(MediaType(HTML, media_type.charset), body))
    printable = "".join(c if c.isprintable() else " " for c in found or "")
    return " ".join(printable.split())[:MAX_TITLE] or read_file_name(url)[:MAX_TITLE]


def _beginning(media_type: MediaType, body: bytes) -> str:
    return find_encoding(body, media_type).decode(body[:_BEGINNING])


def read_path(url: str) -> str:
    """Return the path of an address; of an object, its key."""
    if url.startswith("s3://"):
        return "/" + url.removeprefix("s3://").partition("/")[2]
    return unquote(urlsplit(url).path, errors="replace")


def read_file_name(url: str) -> str:
    """Return the name of a page's file: the last segment of its path, or its host."""
    name = PurePosixPath(read_path(url)).name or urlsplit(url).netloc
    name = "".join(c for c in name if c.isprintable()) or "page"
    while len(name.encode()) > MAX_NAME_BYTES:
        name = name[:-1]
    return name


def _html_title(text: str) -> str | None:
    for found in _TITLE.finditer(text):
        if found[2] is not None:
            return html.unescape(found[2])
    return None
