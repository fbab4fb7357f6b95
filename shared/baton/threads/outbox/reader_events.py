"""A thread's events without personal data, for readers of another user's thread who may not see such data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from baton.domain.threads.events import Event
from baton.domain.threads.thread import Thread
from baton.tenants.privacy.readers import Readers

_PIECES = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "REASONING_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
}
"""Events with a piece of a text, and the member that identifies the text."""
_BEGINNINGS = {
    "TEXT_MESSAGE_START": "messageId",
    "REASONING_MESSAGE_START": "messageId",
    "TOOL_CALL_START": "toolCallId",
}
_ENDS = {"TEXT_MESSAGE_END": "messageId", "REASONING_MESSAGE_END": "messageId", "TOOL_CALL_END": "toolCallId"}
_ENDS_OF_A_RUN = {"RUN_FINISHED", "RUN_ERROR"}


def beginning(thread: Thread, after: int) -> int:
    """Return the sequence number after which to read, for a reader who has the events up to ``after``.

    It is the beginning of the run in progress: personal data may lie across the border between two pieces of a text.
    """
    return thread.last_seq if thread.last_seq < after <= thread.reserved_seq else after


@dataclass(slots=True)
class ReaderEvents:
    """Events without personal data. A text is held back until it is complete, and then sent as one piece."""

    readers: Readers
    after: int
    """The last event that the reader has. Earlier ones are read, for the texts that began in them, and not sent."""
    _texts: dict[tuple[str, str], list[Event]] = field(default_factory=dict)

    async def take(self, events: Iterable[Event]) -> list[Event]:
        """Return the events that can be sent now."""
        ready: list[Event] = []
        for event in events:
            if event.type in _PIECES:
                # A text whose beginning was not seen is not sent: half a telephone number is not recognised.
                self._texts.get(_of(event, _PIECES), []).append(event)
                continue
            if event.type in _BEGINNINGS:
                self._texts[_of(event, _BEGINNINGS)] = []
            elif event.type in _ENDS:
                ready += await self._join_text(_of(event, _ENDS), event)
            elif event.type in _ENDS_OF_A_RUN:
                for text in list(self._texts):
                    ready += await self._join_text(text, event)
            if event.seq is None or event.seq > self.after:
                ready.append(await self._redact(event))
        return ready

    async def _join_text(self, text: tuple[str, str], end: Event) -> list[Event]:
        """Return a complete text as one event, for readers who do not have its end yet.

        It has the number of its last piece. A reader who resumes after that gets later events again, and drops them.
        """
        pieces = self._texts.pop(text, [])
        if not pieces or (end.seq is not None and end.seq <= self.after):
            return []
        whole = "".join(str(piece.body.get("delta", "")) for piece in pieces)
        return [await self._redact(Event({**pieces[-1].body, "delta": whole}, pieces[-1].seq))]

    async def _redact(self, event: Event) -> Event:
        body: dict[str, Any] = await self.readers.redact(event.body)
        return Event(body, event.seq)


def _of(event: Event, member: dict[str, str]) -> tuple[str, str]:
    """Return the key of the text that an event belongs to. Texts of a message and of a call may have the same id."""
    name = member[event.type]
    return name, str(event.body.get(name))
