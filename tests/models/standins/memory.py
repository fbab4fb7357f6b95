"""The opaque parts of a stand-in's answers, which must come back with them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from tests.models.standins.question import Call

MAX_REMEMBERED = 2000


def digest(*parts: str) -> str:
    """Return a signature over ``parts`` in base64."""
    return base64.b64encode(hashlib.sha256("\0".join(parts).encode()).digest()).decode()


class Memory:
    """The thinking that answers with calls had. A call is known by its name and arguments, since ids may be changed."""

    def __init__(self) -> None:
        self._thinking: dict[str, set[str]] = {}
        self.was_clumsy = False
        """True if the first call has failed."""

    def keep(self, calls: Sequence[Call], thinking: str) -> None:
        """Remember an answer."""
        if calls:
            self._thinking.setdefault(calls[0].key, set()).add(thinking)
        while len(self._thinking) > MAX_REMEMBERED:
            del self._thinking[next(iter(self._thinking))]

    def thinking(self, first_call: Call) -> set[str]:
        """Return what the answers that began with this call have thought; empty if there were none."""
        return self._thinking.get(first_call.key, set())

    def reset(self) -> None:
        """Forget everything."""
        self._thinking.clear()
        self.was_clumsy = False
