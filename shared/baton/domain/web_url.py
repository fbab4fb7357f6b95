"""Strict validation of web addresses that callers and operators enter."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urldefrag, urlsplit

from pydantic import AfterValidator

MAX_URL = 8192
"""The length limit of an address in characters."""
CREDENTIALS = "must not hold a user name or password: everybody who is shown the address would learn them"


def is_web_url(url: str, longest: int = MAX_URL) -> bool:
    """Return whether ``url`` is an absolute http or https URL that all parsers read in the same way.

    It has at most ``longest`` characters. White space and control characters are invalid, because ``urllib`` and
    browsers silently drop line ends and would request another address than the checked one. Backslashes, which browsers
    treat as slashes, and credentials are invalid too.
    """
    if len(url) > longest or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError if it is not a number
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not has_credentials(url)


def drop_fragment(url: str) -> str:
    """Return the address without its fragment. An address that cannot be parsed is returned as it is."""
    try:
        return urldefrag(url).url
    except ValueError:
        return url


def has_credentials(url: str) -> bool:
    """Return whether ``url`` has a user name or password, or an empty place for them (RFC 3986, section 3.2.1)."""
    try:
        return "@" in urlsplit(url).netloc
    except ValueError:
        return "@" in url


def _refuse_credentials(url: str) -> str:
    if has_credentials(url):
        raise ValueError(CREDENTIALS)
    return url


def _check_web_url(url: str) -> str:
    if not is_web_url(_refuse_credentials(url)):
        raise ValueError("must be an absolute http or https URL")
    return url


WithoutCredentials = AfterValidator(_refuse_credentials)
WebUrl = Annotated[str, AfterValidator(_check_web_url)]
