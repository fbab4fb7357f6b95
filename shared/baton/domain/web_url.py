"""Strict validation of web addresses."""

from __future__ import annotations

from urllib.parse import urlsplit

MAX_URL = 8192
"""The length limit of an address in characters."""


def is_web_url(url: str) -> bool:
    """Return whether ``url`` is an absolute http or https URL that all parsers read in the same way.

    White space and control characters are invalid: ``urllib`` and browsers silently drop line ends, so the checked
    address would differ from the one that is requested. So are backslashes, which browsers treat as slashes.
    """
    if len(url) > MAX_URL or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError if it is no number
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
