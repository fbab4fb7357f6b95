"""Regular expressions from agents' files and from models: google-re2, in time linear in the text for any pattern."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

MAX_MEMORY = 1 << 20
"""Bytes a compiled pattern may take: one that needs more is refused."""


@lru_cache(maxsize=2048)
def compiled(pattern: str, *, ignores_case: bool = False) -> Any:
    """The pattern; its ``search`` takes text that UTF-8 can hold.

    Letter classes (``\\w``, ``\\b``) know ASCII only, as re2 has it. Raises ``ValueError`` for a pattern that cannot
    be used, which says why.
    """
    # Loaded only where there is a pattern: most functions start faster without.
    import re2

    options = re2.Options()
    options.case_sensitive = not ignores_case
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"the pattern {pattern!r} cannot be used: {_reason(error)}") from None
    except UnicodeEncodeError:
        raise ValueError(f"the pattern {pattern!r} cannot be used: it holds half a surrogate pair") from None


def _reason(error: Exception) -> str:
    told = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
    if re.search(r"\(\?<?[=!]", told) or told.endswith("(?<"):
        return "lookahead and lookbehind are not supported, because they cannot be matched in linear time"
    if re.search(r"escape sequence: \\[1-9]|\(\?(P|\()$", told):
        return "references back to a group, and conditions on one, cannot be matched in linear time"
    return told
