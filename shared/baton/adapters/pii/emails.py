"""E-mail addresses in texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from baton.domain.pii import PiiKind, PiiSpan

MAX_LOCAL = 64
"""Characters before the ``@`` (RFC 5321, 4.5.3.1.1)."""
_LOCAL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]*\Z")
_DOMAIN = re.compile(r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w-])")


def emails(text: str) -> Iterator[PiiSpan]:
    """Yield the addresses. Each ``@`` is looked at once, with a bounded number of characters around it."""
    at = text.find("@")
    while at >= 0:
        before = _LOCAL.search(text, max(0, at - MAX_LOCAL), at)
        behind = _DOMAIN.match(text, at + 1, at + 260)
        if before is not None and behind is not None:
            # Punctuation in front belongs to the sentence.
            start = before.start() + len(before[0]) - len(before[0].lstrip(".!#$%&'*/=?^`{|}~-"))
            if start < at:
                yield PiiSpan(start, behind.end(), PiiKind.EMAIL)
        at = text.find("@", at + 1)
