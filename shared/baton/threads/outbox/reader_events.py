"""A thread's events without personal data, for readers of another user's thread who may not see such data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from baton.domain.threads.events import Event
from baton.domain.threads.thread import Thread
from baton.tenants.privacy.readers import Readers

_TEXTS = {"TEXT_MESSAGE": "messageId", "REASONING_MESSAGE": "messageId", "TOOL_CALL": "toolCallId"}
"""The beginning of the types of a text's events, and the member that identifies the text."""
_ENDS_OF_A_RUN = {"RUN_FINISHED", "RUN_ERROR"}


def find_beginning(thread: Thread, after: int) -> int:
    """Return the sequence number after which to read, for a reader who has the events up to ``after``.

    All events of the run in progress are read, because personal data may be split between two pieces of a text.
    """
    return thread.last_seq if thread.last_seq < after <= thread.reserved_seq else after


@dataclass(slots=True)
class ReaderEvents:
    """Events without personal data. A text is held back until it is complete, and then sent as one piece."""

    readers: Readers
    after: int
    """The number of the reader's last event. Earlier events are read, for texts that begin in them, but not sent."""
    _texts: dict[tuple[str, str], list[Event]] = field(default_factory=dict)

    async def take(self, events: Iterable[Event]) -> list[Event]:
        """Return the events that can be sent now."""
        ready: list[Event] = []
        for event in events:
            kind, _, step = event.type.rpartition("_")
            # A text of a message and a text of a call may have the same id.
            key = kind, str(event.body.get(_TEXTS.get(kind, "")))
            if kind in _TEXTS and step in ("CONTENT", "ARGS"):
                # A text whose beginning was not seen is not sent: half a telephone number is not recognised.
                self._texts.get(key, []).append(event)
                continue
            if kind in _TEXTS and step == "START":
                self._texts[key] = []
            elif kind in _TEXTS and step == "END":
                ready += await self._join_text(key, event)
            elif event.type in _ENDS_OF_A_RUN:
                for open_key in list(self._texts):
                    ready += await self._join_text(open_key, event)
            if event.seq is None or event.seq > self.after:
                ready.append(await self._redact(event))
        return ready

    async def _join_text(self, key: tuple[str, str], end: Event) -> list[Event]:
        """Return a complete text as one event, for readers who do not have its end yet.

        The event has the number of the text's last piece. A reader who resumes after it gets later events again, and
        drops them.
        """
        pieces = self._texts.pop(key, [])
        if not pieces or (end.seq is not None and end.seq <= self.after):
            return []
        whole_text = "".join(str(piece.body.get("delta", "")) for piece in pieces)
        return [await self._redact(Event({**pieces[-1].body, "delta": whole_text}, pieces[-1].seq))]

    async def _redact(self, event: Event) -> Event:
        body: dict[str, Any] = await self.readers.redact(event.body)
        return Event(body, event.seq)
