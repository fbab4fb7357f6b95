"""Opaque parts of a model's answer that its API needs back: signed thinking, reasoning items, signatures of calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_PARTS_BYTES = 256 * 1024
"""Bytes of the parts of one answer, as JSON. Larger parts are all dropped, because APIs require all or none."""
MAX_WITHHELD_BYTES = 32 * 1024
"""Bytes of the fields that are stored in case the API asks for them."""
BYTES_A_TOKEN = 4
"""Bytes that count as a token. Most parts are base64, for which no tokenizer is known."""


class Replay(StrEnum):
    """Conditions for sending the parts of an answer back to the model that gave them."""

    NEVER = "never"
    TURN = "turn"
    """They are sent back within the turn only, after the results of the answer's calls."""
    ALWAYS = "always"
    """They are sent back in every prompt that contains the answer."""


@dataclass(frozen=True, slots=True)
class ProviderParts:
    """The opaque parts of one answer, which only the model that gave them can read."""

    origin: str
    """The provider and the model that gave them, as ``<provider>/<model>``. No other model gets them."""
    replay: Replay
    parts: tuple[dict[str, Any], ...]
    """JSON objects in the order of the answer, in the form of the adapter that made them.

    ``{"text": n}`` stands for the next ``n`` characters of the message's text, ``{"call": i}`` for its ``i``-th call; a
    part of a call may hold more fields, such as its signature. ``{"withheld": {...}}`` has fields that go back only if
    the API asks for them.
    """
    tokens: int = 0
    """Estimated tokens of the parts in a prompt."""

    @classmethod
    def of(
        cls, origin: str, replay: Replay, parts: Sequence[Mapping[str, Any]], withheld: Mapping[str, Any] | None = None
    ) -> ProviderParts | None:
        """Return the parts to store; None if nothing is left of them. ``withheld`` are further fields of the answer.

        Parts of more than ``MAX_PARTS_BYTES`` are dropped, and so are ``withheld`` of more than ``MAX_WITHHELD_BYTES``.
        What UTF-8 or JSON cannot encode counts as too large.
        """
        if replay is Replay.NEVER:
            return None
        sent = [dict(part) for part in parts] if any(part.keys() - {"text", "call"} for part in parts) else []
        size = _measure_size(sent)
        if size > MAX_PARTS_BYTES:
            sent = []
        small_fields = (
            [{"withheld": dict(withheld)}] if withheld and _measure_size(withheld) <= MAX_WITHHELD_BYTES else []
        )
        if not sent and not small_fields:
            return None
        # ``withheld`` alone is kept beyond the turn, because an API may ask for it in later turns.
        return cls(
            origin, replay if sent else Replay.ALWAYS, (*small_fields, *sent), -(-size // BYTES_A_TOKEN) if sent else 0
        )


def _measure_size(value: object) -> int:
    """Return the size of a JSON value in bytes; more than ``MAX_PARTS_BYTES`` if the value cannot be encoded."""
    try:
        return len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError):
        return MAX_PARTS_BYTES + 1
