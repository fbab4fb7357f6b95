"""Addresses of the web, as strictly as whoever fetches them later may read them."""

from __future__ import annotations

from urllib.parse import urlsplit

MAX_URL = 8192
"""Characters."""


def is_web_url(url: str) -> bool:
    """Whether ``url`` is an absolute http or https URL that every parser reads alike.

    White space and control characters are in none: ``urllib`` drops line ends without a word (as browsers do), so that
    what was checked would not be what is sent. Nor are backslashes, which browsers take for slashes.
    """
    if len(url) > MAX_URL or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is no number
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
