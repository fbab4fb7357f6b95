"""Replaying the events that a client missed: from the log, from the messages, or as a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from baton.domain.errors import InvalidSequence
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import (
    Event,
    RunStamp,
    make_messages_snapshot,
    make_run_error,
    make_run_finished,
    make_run_started,
    make_unsequenced,
)
from baton.domain.threads.message import StoredMessage, find_result
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.thread import Thread
from baton.ports.clock import Clock
from baton.ports.threads.stream_log import LogPiece, StreamLog
from baton.ports.threads.threads import ThreadStore
from baton.threads.outbox.event_log import restore_event

LOG_RETENTION = timedelta(hours=24)
"""The time for which the log keeps events."""
MAX_SEQ = 10**12
"""The largest sequence number that clients may send."""
SNAPSHOT_MESSAGES = 50
"""The number of newest messages in the snapshot for a client that missed too much."""
MAX_PAGES = 10
"""Pages of messages that a replay reads at most, each of 50 messages and about 1 MB at most."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The events and state for a client that has seen all events up to ``after``."""

    events: tuple[Event, ...]
    """The events after ``after``, in sequence. The only gaps are those of takeovers."""
    last_seq: int
    """The last known sequence number. A run in progress continues from here."""
    snapshot: Event | None
    """The newest messages, when the log does not reach back to ``after``, or has too much to be replayed at once."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """Consecutive events of one attempt at a run: a piece of the log, or the tail of a message."""

    stamp: RunStamp
    first_seq: int
    bodies: Sequence[dict[str, Any]]
    text: str = ""
    """The text of the run's last message, from which a tail takes its texts."""

    @property
    def last_seq(self) -> int:
        return self.first_seq + len(self.bodies) - 1

    @property
    def previous_seq(self) -> int | None:
        """The sequence number before a takeover's gap; None if the segment does not begin after one."""
        if not self.bodies:
            return None
        previous: int | None = self.bodies[0].get("metadata", {}).get("previousSeq")
        return previous


class Replays:
    """Events rebuilt from the log and the messages."""

    def __init__(self, store: ThreadStore, log: StreamLog, clock: Clock) -> None:
        self._store = store
        self._log = log
        self._clock = clock

    async def replay_after(self, scope: Scope, thread: Thread, after: int) -> Replay:
        """Return the events after ``after``. Raises ``InvalidSequence`` if the thread has not reached ``after``.

        If they are too many for one answer, the newest messages and the newest runs that fit are returned.
        """
        # A computer may be suspended for a day in the middle of a run. Clients need the run from its beginning.
        log_read = await self._log.read(scope, thread.id, after=after, kept_after=thread.last_seq)
        messages, begin = await self._read_messages_since(
            scope, thread, after if log_read.is_whole else log_read.pieces[0].first_seq
        )
        pieces = _select_valid_pieces(log_read.pieces, thread, messages)
        segments = [*_list_piece_segments(thread.id, pieces), *_list_tail_segments(thread.id, messages)]
        is_cut = not log_read.is_whole or begin is not None
        if begin is not None:
            segments = [segment for segment in segments if segment.first_seq >= begin]
        segments = _drop_dead_segments(sorted(segments, key=lambda segment: segment.first_seq))
        segments = [segment for segment in segments if segment.last_seq > after]
        last_seq = max([thread.last_seq, *(segment.last_seq for segment in segments)])
        # Events are posted before they are logged, so a client may be ahead of the log.
        if after > max(last_seq, thread.reserved_seq):
            raise InvalidSequence
        last_seq = max(last_seq, after)
        is_whole = not is_cut and _is_continuous(segments, after, last_seq)
        events = tuple(
            restore_event(body, segment.stamp, seq, question=_find_question(segment, messages), text=segment.text)
            for segment in segments[0 if is_whole else _find_last_whole(segments) :]
            for seq, body in enumerate(segment.bodies, segment.first_seq)
            if seq > after
        )
        snapshot = None
        if not is_whole:
            page = await self._store.read_messages(scope, thread, limit=SNAPSHOT_MESSAGES, before=None)
            snapshot = make_unsequenced(make_messages_snapshot(page.messages), threadId=thread.id)
        return Replay(events, last_seq, snapshot)

    async def replay_run(self, scope: Scope, thread: Thread, messages: Sequence[StoredMessage]) -> list[Event]:
        """Return the events of a finished run: the original events while the log has them, otherwise the short form."""
        question, last = messages[0], messages[-1]
        end = last.end
        if end is not None and self._clock.now() - last.timestamp < LOG_RETENTION:
            log_read = await self._log.read(scope, thread.id, after=end.first_seq - 1, through=end.last_seq)
            segments = [
                *(
                    segment
                    for segment in _list_piece_segments(thread.id, log_read.pieces)
                    if segment.stamp.run_id == question.run_id
                ),
                *_list_tail_segments(thread.id, messages),
            ]
            segments = [segment for segment in segments if segment.first_seq >= end.first_seq]
            if _is_gapless(segments, end.first_seq):
                return [
                    restore_event(body, segment.stamp, seq, question=question, text=segment.text)
                    for segment in segments
                    for seq, body in enumerate(segment.bodies, segment.first_seq)
                ]
        return make_short_form(thread.id, messages)

    async def _read_messages_since(
        self, scope: Scope, thread: Thread, after: int
    ) -> tuple[list[StoredMessage], int | None]:
        """Return the messages of all runs with events after ``after``, in order.

        They include the question of the run in progress. If they are too many, the second value is the first sequence
        number of those that are returned, the newest; otherwise None.
        """
        messages: list[StoredMessage] = []
        if thread.run is not None:
            messages += await self._store.run_messages(scope, thread.id, first_ordinal=thread.next_ordinal, below=None)
            # Only the question. Drop a stored end, because ``thread`` was read before that end was committed.
            messages = [
                replace(message, end=None)
                for message in messages
                if message.run_id == thread.run.run_id and message.is_question
            ]
        before: int | None = None
        pages = 0
        while thread.next_ordinal > 0 and after < thread.last_seq:
            if pages == MAX_PAGES:
                return _keep_whole_runs(messages, thread.last_seq)
            # Events are numbered through all branches.
            page = await self._store.read_messages(scope, thread.unbranched, limit=SNAPSHOT_MESSAGES, before=before)
            messages = [*page.messages, *messages]
            pages += 1
            ends = [message.end for message in page.messages if message.end is not None]
            if page.next_before is None or any(end.last_seq <= after for end in ends):
                break
            if page.messages and self._clock.now() - page.messages[0].timestamp > LOG_RETENTION:
                break
            before = page.next_before
        return messages, None


def make_short_form(thread_id: str, messages: Sequence[StoredMessage]) -> list[Event]:
    """Return a run whose events are no longer stored: its messages as a snapshot between its start and end events."""
    question, last = messages[0], messages[-1]
    run_id = question.run_id
    end = last.end
    metadata = {"threadId": thread_id, "runId": run_id, "replayed": True}
    parent_run_id = end.parent_run_id if end is not None else None
    started_event = make_unsequenced(
        make_run_started(thread_id, run_id, question, parent_run_id=parent_run_id), **metadata
    )
    snapshot = make_unsequenced(make_messages_snapshot(messages), **metadata)
    if end is not None and end.outcome is OutcomeType.ERROR:
        error = end.error
        return [started_event, snapshot, make_unsequenced(make_run_error(error, end.usage, end.model), **metadata)]
    usage, model = (end.usage, end.model) if end is not None else (None, None)
    interrupts = end.interrupts if end is not None else ()
    finished_event = make_run_finished(
        thread_id,
        run_id,
        usage=usage,
        model=model,
        outcome_type=end.outcome if end is not None else OutcomeType.SUCCESS,
        interrupts=interrupts,
        is_cut=any(message.is_cut for message in messages),
        result=find_result(messages) if end is None or end.outcome is OutcomeType.SUCCESS else None,
    )
    return [started_event, snapshot, make_unsequenced(finished_event, **metadata)]


def _keep_whole_runs(messages: Sequence[StoredMessage], last_seq: int) -> tuple[list[StoredMessage], int]:
    """Return the messages without the first run, whose beginning may be missing, and their first sequence number."""
    end_of_first = next((index for index, message in enumerate(messages) if message.end is not None), len(messages) - 1)
    stored_messages = list(messages[end_of_first + 1 :])
    return stored_messages, next(
        (message.end.first_seq for message in stored_messages if message.end is not None), last_seq + 1
    )


def _select_valid_pieces(
    pieces: Iterable[LogPiece], thread: Thread, messages: Iterable[StoredMessage]
) -> list[LogPiece]:
    """Return the pieces of committed runs and of the run in progress, without those of dead attempts."""
    ends = [(message.run_id, message.attempt, message.end) for message in messages if message.end is not None]
    committed_ids = {run_id for run_id, _, _ in ends}

    def is_valid(piece: LogPiece) -> bool:
        if piece.first_seq > thread.last_seq:
            run = thread.run
            return run is not None and (piece.run_id, piece.attempt) == (run.run_id, run.attempt)
        if piece.run_id is None or piece.run_id not in committed_ids:
            return True
        return any(
            (piece.run_id, piece.attempt) == (run_id, attempt) and end.first_seq <= piece.first_seq <= end.last_seq
            for run_id, attempt, end in ends
        )

    return [piece for piece in pieces if is_valid(piece)]


def _drop_dead_segments(segments: Sequence[_Segment]) -> list[_Segment]:
    """Return the segments without those in the gap of a later segment: a dead worker's events, never committed."""
    jumps = [(segment.previous_seq, segment.first_seq) for segment in segments if segment.previous_seq is not None]
    return [segment for segment in segments if not any(before < segment.first_seq < after for before, after in jumps)]


def _find_question(segment: _Segment, messages: Sequence[StoredMessage]) -> StoredMessage | None:
    """Return the message that the segment's run answers; None if it is not among ``messages``.

    The run id alone does not identify the message, because the client chooses the run id.
    """
    question = None
    for message in messages:
        if message.is_question:
            question = message
        if message.end is not None and message.end.first_seq <= segment.first_seq <= message.end.last_seq:
            return question
    # Not committed: the last question is that of the run in progress, unless a repeat has stored an answered one there.
    return question if question is not None and question.run_id == segment.stamp.run_id else None


def _list_piece_segments(thread_id: str, pieces: Iterable[LogPiece]) -> list[_Segment]:
    return [
        _Segment(RunStamp(thread_id, piece.run_id, piece.attempt), piece.first_seq, piece.events) for piece in pieces
    ]


def _list_tail_segments(thread_id: str, messages: Iterable[StoredMessage]) -> list[_Segment]:
    return [
        _Segment(
            RunStamp(thread_id, message.run_id, message.attempt), message.end.tail_seq, message.end.tail, message.text
        )
        for message in messages
        if message.end is not None and message.end.tail
    ]


def _is_continuous(segments: Sequence[_Segment], after: int, last_seq: int) -> bool:
    """Return whether the segments reach from ``after`` to ``last_seq`` without a gap, except those of takeovers."""
    seen = after
    for segment in segments:
        jump = segment.previous_seq
        if segment.first_seq > seen + 1 and (jump is None or jump > seen):
            return False
        seen = max(seen, segment.last_seq)
    return seen >= last_seq


def _find_last_whole(segments: Sequence[_Segment]) -> int:
    """Return the index of the first segment that begins a run and from which no event is missing to the end.

    Return the number of segments if there is no such segment.
    """
    start = len(segments)
    for index in range(len(segments) - 1, -1, -1):
        if index + 1 < len(segments):
            next_segment = segments[index + 1]
            jump = next_segment.previous_seq
            if next_segment.first_seq > segments[index].last_seq + 1 and jump is None:
                break
        if segments[index].bodies and segments[index].bodies[0]["type"] == "RUN_STARTED":
            start = index
    return start


def _is_gapless(segments: Sequence[_Segment], first_seq: int) -> bool:
    expected = first_seq
    for segment in segments:
        if segment.first_seq != expected:
            return False
        expected = segment.last_seq + 1
    return bool(segments)
