"""Reduce an AG-UI run input: clients send the whole conversation, of which one message is new."""

from __future__ import annotations

from typing import Any

MAX_ENTRIES = 1_000
"""Entries of ``tools``, of ``context`` and of ``resume``. Each is validated."""


def newest_only(body: Any) -> Any:
    """Return the input with only its last user message and its last message.

    Validating a thousand messages would take a tenth of a second. Raises ``ValueError`` for lists that are too long.
    """
    if not isinstance(body, dict):
        return body
    for name in ("tools", "context", "resume"):
        if isinstance(body.get(name), list) and len(body[name]) > MAX_ENTRIES:
            raise ValueError(f"{name} must have at most {MAX_ENTRIES} entries")
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    places = [n for n, message in enumerate(messages) if isinstance(message, dict) and message.get("role") == "user"]
    read = sorted({*places[-1:], len(messages) - 1} - {-1})
    return {**body, "messages": [messages[place] for place in read]}
