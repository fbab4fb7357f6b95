"""Numbering a run's events and writing them to the durable log in pieces."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from typing import Any

from ag_ui.core import BaseEvent

from baton.domain.threads.events import Event, RunStamp, make_run_input, strip_stamp, to_body
from baton.domain.threads.message import StoredMessage
from baton.ports.threads.leases import Lease
from baton.ports.threads.stream_log import LogPiece, StreamLog

FIRST_PIECE_SECONDS = 1.0
"""Seconds from the first text until the first piece is written, while somebody reads the log."""
PIECE_SECONDS = 2.0
"""Seconds from the first text of a later piece until the piece is written, while somebody reads the log."""
MAX_SECONDS = 5.0
"""Seconds from the first event of a piece until the piece is written. A piece costs a write unit."""
STREAMED = frozenset({"TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"})
"""Events that users read as they arrive, and that are logged soon."""
_IS_TEXT = "result_is_text"
"""The mark of a stored RUN_FINISHED whose result is the text of the run's last message."""
MAX_PIECE = 256 * 1024
"""Bytes of events in a piece, before compression: an item holds 400 KB."""


class EventLog:
    """The events of one attempt at a run: numbered in order, and logged in pieces.

    Events that are not logged when the run ends become the *tail*. It is stored with the run's last message, which
    saves a write.
    """

    def __init__(self, log: StreamLog, stamp: RunStamp, first_seq: int) -> None:
        self._log = log
        self._stamp = stamp
        self._next_seq = first_seq
        self._unlogged: list[Event] = []
        self._unlogged_since: float | None = None
        self._text_since: float | None = None
        self._has_pieces = False
        self.is_read = False
        """Whether somebody reads the log while it is written."""

    @property
    def last_seq(self) -> int:
        """The last sequence number that was assigned."""
        return self._next_seq - 1

    @property
    def logged_seq(self) -> int:
        """The last sequence number that is in the log."""
        first = self._unlogged[0].seq if self._unlogged else None
        return self.last_seq if first is None else first - 1

    @property
    def piece_due(self) -> float:
        """The event loop time at which the next piece is due: ``MAX_SECONDS`` after its first event, or infinity.

        While somebody reads the log, the piece is due a second or two after its first text. Visible thinking counts as
        text. Other events wait for text, so that a model's silence before its first word costs no write. Connections
        need no log: the worker sends a new connection all events that are not logged.

        After a takeover the first piece is due with its first event, because clients have been waiting for an event.
        """
        if self._stamp.attempt > 1 and not self._has_pieces:
            return math.inf if self._unlogged_since is None else self._unlogged_since
        oldest, text = self._unlogged_since, self._text_since if self.is_read else None
        seconds = PIECE_SECONDS if self._has_pieces else FIRST_PIECE_SECONDS
        return min(
            oldest + MAX_SECONDS if oldest is not None else math.inf, text + seconds if text is not None else math.inf
        )

    def number(self, event: BaseEvent) -> Event:
        """Return the event with the next number in the thread's sequence, and keep it for the log."""
        numbered_event = self._stamp.number(to_body(event), self._next_seq)
        self._next_seq += 1
        self._unlogged.append(numbered_event)
        now = asyncio.get_running_loop().time()
        self._unlogged_since = self._unlogged_since or now
        if numbered_event.type in STREAMED:
            self._text_since = self._text_since or now
        return numbered_event

    async def write_piece(self, lease: Lease) -> None:
        """Write the events that are not logged yet, as one piece if they fit into an item.

        Raises ``LeaseLost`` and ``StoreUnavailable``.
        """
        pending_events = tuple(self._unlogged)  # more events may be numbered during the write
        self._unlogged_since = self._text_since = None
        for events in _group_for_items(pending_events):
            first_seq = events[0].seq
            if first_seq is None:
                return
            piece = LogPiece(
                run_id=self._stamp.run_id,
                attempt=self._stamp.attempt,
                first_seq=first_seq,
                events=tuple(to_logged(event) for event in events),
            )
            await self._log.append(lease, piece)
            self._has_pieces = True
            self._unlogged = self._unlogged[len(events) :]

    @property
    def is_piece_needed(self) -> bool:
        """True if the events that are not logged must be written as a piece, and not stored with a message.

        They would make the message too large, or contain thinking, which is kept as long as the log, not as long as
        messages.
        """
        has_thinking = any(event.type.startswith("REASONING_") for event in self._unlogged)
        return has_thinking or len(_group_for_items(self._unlogged)) > 1

    def make_tail(self, text: str, message_id: str | None) -> tuple[int, tuple[dict[str, Any], ...]]:
        """Return the first sequence number and the events of the tail.

        An event with text of the message has the text's span in the message instead of the text. A result that is the
        message's text, as JSON, is left out too.
        """
        if not self._unlogged or self._unlogged[0].seq is None:
            return self._next_seq, ()
        length = sum(len(event.body["delta"]) for event in self._unlogged if _is_content_of(event.body, message_id))
        offset = len(text) - length
        events: list[dict[str, Any]] = []
        for event in self._unlogged:
            body = to_logged(event)
            if _is_content_of(body, message_id):
                end = offset + len(body.pop("delta"))
                body["span"] = [offset, end]
                offset = end
            elif body.get("result") is not None and _is_result(body["result"], text):
                body[_IS_TEXT] = bool(body.pop("result"))
            events.append(body)
        return self._unlogged[0].seq, tuple(events)


def _group_for_items(events: Sequence[Event]) -> list[list[Event]]:
    """Return the events in groups that fit into one item. One event always fits, because tool results are limited."""
    groups: list[list[Event]] = []
    room = 0
    for event in events:
        size = len(event.json().encode())
        if size > room or not groups:
            groups.append([])
            room = MAX_PIECE
        groups[-1].append(event)
        room -= size
    return groups


def to_logged(event: Event) -> dict[str, Any]:
    """Return an event as the log stores it, without the fields that all events of the run share.

    RUN_STARTED is stored without the user's message and its id.
    """
    body = strip_stamp(event)
    if body["type"] == "RUN_STARTED" and body["input"]["messages"]:
        body.pop("input", None)
        metadata = {name: value for name, value in body.pop("metadata", {}).items() if name != "messageId"}
        body |= {"metadata": metadata} if metadata else {}
    return body


def restore_event(
    body: dict[str, Any], stamp: RunStamp, seq: int, *, question: StoredMessage | None, text: str
) -> Event:
    """Return the full event for the output of ``to_logged`` or ``EventLog.make_tail``.

    ``question`` is the message that the run answers, if it is known, and ``text`` the text of the run's last message.
    """
    full_body = dict(body)
    if "span" in full_body:
        start, end = full_body.pop("span")
        full_body["delta"] = text[start:end]
    if full_body.pop(_IS_TEXT, False):
        full_body["result"] = json.loads(text)
    is_bare = full_body["type"] == "RUN_STARTED" and "input" not in full_body
    if is_bare and question is not None and stamp.run_id is not None:
        full_body["input"] = make_run_input(stamp.thread_id, stamp.run_id, question).model_dump(
            by_alias=True, mode="json"
        )
        full_body["metadata"] = {"messageId": question.id, **full_body.get("metadata", {})}
    return stamp.number(full_body, seq)


def _is_result(result: Any, text: str) -> bool:
    """Return whether a run's result is the text of its last message."""
    try:
        return bool(result) and json.loads(text) == result
    except ValueError:
        return False


def _is_content_of(body: dict[str, Any], message_id: str | None) -> bool:
    return bool(body["type"] == "TEXT_MESSAGE_CONTENT" and body["messageId"] == message_id)


async def log_outside_run(log: StreamLog, lease: Lease, bodies: Sequence[BaseEvent]) -> tuple[list[Event], int]:
    """Number and log the events of a lease that carries out no run; return them and the last number.

    Raises ``LeaseLost`` and ``StoreUnavailable``.
    """
    event_log = EventLog(log, RunStamp(lease.thread_id, None, 1), first_seq=lease.first_seq)
    jump = find_jump(lease)
    if jump is not None:
        bodies[0].metadata = {"previousSeq": jump}
    numbered_events = [event_log.number(body) for body in bodies]
    await event_log.write_piece(lease)
    return numbered_events, event_log.last_seq


def find_jump(lease: Lease) -> int | None:
    """Return the last committed sequence number if the lease's first number leaves a gap after it; otherwise None.

    Clients continue after this gap.
    """
    return lease.thread.last_seq if lease.first_seq > lease.thread.last_seq + 1 else None
