"""Regular expressions from agents' files and models, matched by google-re2 in linear time."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

MAX_MEMORY = 1 << 20
"""Bytes of a compiled pattern. A larger one is refused."""


@lru_cache(maxsize=512)
def compile_cached(pattern: str, *, ignores_case: bool = False) -> Any:
    """Return the compiled pattern from a cache, for text that UTF-8 can encode. Raises as ``compile_pattern`` does."""
    return compile_pattern(pattern, ignores_case=ignores_case)


def compile_pattern(pattern: str, *, ignores_case: bool = False, max_memory: int = MAX_MEMORY) -> Any:
    """Return the compiled pattern, of at most ``max_memory`` bytes.

    Letter classes (``\\w``, ``\\b``) are ASCII only, as in re2. Raises ``ValueError``, with the reason, for a pattern
    that cannot be used.
    """
    # Imported only if there is a pattern, so that functions without one start faster.
    import re2

    options = re2.Options()
    options.case_sensitive = not ignores_case
    options.log_errors = False
    options.max_mem = max_memory
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"the pattern {pattern!r} cannot be used: {_describe_error(error)}") from None
    except UnicodeEncodeError:
        raise ValueError(f"the pattern {pattern!r} cannot be used: it contains half a surrogate pair") from None


def _describe_error(error: Exception) -> str:
    message = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
    if re.search(r"\(\?<?[=!]", message) or message.endswith("(?<"):
        return "lookahead and lookbehind are not supported, because they cannot be matched in linear time"
    if re.search(r"escape sequence: \\[1-9]|\(\?(P|\()$", message):
        return "references back to a group, and conditions on one, cannot be matched in linear time"
    return message
