"""A client's view of a resume in the model: the rules of the protocol, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.faults.lease_model.state import NOBODY, Msg, Piece, Posted, Rules, State


class Event(NamedTuple):
    """An event of the sequence."""

    seq: int
    starts: bool
    ends: bool
    message: int
    writer: int
    previous: int = NOBODY


class Entry(NamedTuple):
    """A run, or the closing of the thread, as a client shows it."""

    first: int
    last: int
    message: int
    writer: int
    complete: bool = True


def list_expected(state: State) -> list[Entry]:
    """The events in the store, in order."""
    runs = [Entry(m.first, m.last, m.message, m.writer) for m in state.committed if m.first]
    closings = [Entry(seq, seq, NOBODY, fence) for seq, fence in state.closings]
    return sorted(runs + closings)


def disagreements(state: State, rules: Rules) -> Iterator[str]:
    """Every client that would show something else than what is stored, after it has resumed."""
    stored = list_expected(state)
    for base in (0, *(entry.last for entry in stored)):
        existing = [entry for entry in stored if entry.last <= base]
        yield from _disagreement(state, rules, base, existing, "has seen what was committed")
    for seen in state.posted:
        existing = [entry for entry in stored if entry.last <= seen.base]
        existing.append(Entry(seen.first, seen.seq, seen.message, seen.writer, complete=False))
        yield from _disagreement(state, rules, seen.seq, existing, f"has seen {seen}")


def _disagreement(state: State, rules: Rules, after: int, stored: list[Entry], who: str) -> Iterator[str]:
    if after > max(state.thread.last, state.thread.next - 1):
        yield f"a client that {who} is ahead of the thread"
        return
    visible = _apply(list(stored), after, replay(state, after, rules))
    if visible != list_expected(state):
        yield f"a client that {who} shows {visible}"


def _apply(visible: list[Entry], seen: int, events: list[Event]) -> list[Entry]:
    for event in events:
        if event.seq <= seen:
            continue
        if event.previous != NOBODY:
            visible = [entry for entry in visible if entry.last <= event.previous]
        elif event.seq > seen + 1:
            return [*visible, Entry(event.seq, 0, event.message, event.writer, complete=False)]  # a gap
        seen = event.seq
        if event.starts:
            visible.append(Entry(event.seq, event.seq, event.message, event.writer, complete=event.ends))
        elif visible and not visible[-1].complete:
            visible[-1] = visible[-1]._replace(last=event.seq, complete=event.ends)
    return visible


def replay(state: State, after: int, rules: Rules) -> list[Event]:
    """The result of a resume, with no run in progress: pieces and tails, in order."""
    segments: list[list[Event]] = []
    for piece in state.log:
        if rules.dead_pieces_ignored and piece.first > state.thread.last:
            continue
        segments.append(_events_of_piece(piece))
    segments += [_events_of_tail(m) for m in state.committed if m.first]
    segments.sort(key=lambda segment: segment[0].seq)
    return [event for segment in segments for event in segment if event.seq > after]


def _events_of_piece(piece: Piece) -> list[Event]:
    closes = piece.message == NOBODY
    first = Event(
        piece.first, starts=True, ends=closes, message=piece.message, writer=piece.fence, previous=piece.previous
    )
    return [
        first,
        *(
            Event(seq, starts=False, ends=False, message=piece.message, writer=piece.fence)
            for seq in range(piece.first + 1, piece.last + 1)
        ),
    ]


def _events_of_tail(message: Msg) -> list[Event]:
    return [
        Event(
            seq,
            seq == message.first,
            seq == message.last,
            message.message,
            message.writer,
            message.previous if seq == message.first else NOBODY,
        )
        for seq in range(message.logged + 1, message.last + 1)
    ]


def clash(entry: Entry, seen: Posted) -> bool:
    """Return whether a client has seen another event under a committed number."""
    return entry.first <= seen.seq <= entry.last and entry.writer != seen.writer
