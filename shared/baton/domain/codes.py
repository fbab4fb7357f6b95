"""Codes in a query: what has a digit and is written with marks between its parts, such as ``PN-173`` or ``v2.3.1``.

An engine searches such a code by its parts, of which others have the same. As a phrase it is as rare as it is.
"""

from __future__ import annotations

import re

MAX_CODES = 20
"""Codes of a query that are searched as phrases."""
MAX_CODE = 64
"""Characters of a code. What is longer is an address."""
_CODE = re.compile(r"(?<!\w)\w++(?:[^\w\s]++\w++)++")


def codes_of(query: str) -> list[str]:
    """Return the codes of several parts that stand in a query, each once, in lower case."""
    found = (match[0].lower() for match in _CODE.finditer(query))
    codes = dict.fromkeys(code for code in found if len(code) <= MAX_CODE and any(map(str.isdigit, code)))
    return list(codes)[:MAX_CODES]
