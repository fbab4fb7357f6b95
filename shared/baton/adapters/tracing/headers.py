"""The headers of requests to a collector of traces, as their secret has them."""

from __future__ import annotations

import json

from baton.domain.errors import InternalError


def parse_trace_headers(text: str) -> dict[str, str]:
    """Return the headers in a secret's value. Raises ``InternalError`` that does not quote it."""
    try:
        headers = json.loads(text)
    except ValueError:
        headers = None
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise InternalError('is no JSON object of headers with text values, such as {"x-api-key": "..."}')
    if not all(name.isascii() and value.isascii() and value.isprintable() for name, value in headers.items()):
        raise InternalError("has a header that is not printable ASCII, as HTTP wants it")
    return headers
