"""Exhaustive exploration of the model: every order of every worker's steps, each able to stop for good anywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.faults.lease_model.clients import Entry, clash, disagreements, list_expected
from tests.faults.lease_model.state import NOBODY, Kind, Pc, Rules, State, Worker
from tests.faults.lease_model.steps import steps, worker_steps


class Violation(Exception):
    """A state that must not be; ``path`` leads there."""

    def __init__(self, what: str, path: Sequence[str]) -> None:
        self.path = tuple(path)
        super().__init__("\n".join((what, *path)))


@dataclass
class Exploration:
    """All states that can follow when ``workers`` are let loose on an empty thread.

    A worker that never takes another step has crashed, one that does so late is a zombie: so stopping everywhere is
    part of every exploration, and from every stored state the messages are delivered again, undisturbed, to see that
    what had died is finished.
    """

    workers: tuple[Worker, ...]
    rules: Rules = field(default_factory=Rules)
    states: int = 0
    stored: int = 0
    """The number of different contents of the store in them."""

    def run(self) -> None:
        """Raises ``Violation``."""
        start = State(tuple(sorted(self.workers, key=hash)))
        came_from: dict[int, tuple[int, str]] = {hash(start): (0, "")}
        fine: set[State] = set()
        waiting = deque([(start, hash(start))])
        while waiting:
            state, from_key = waiting.popleft()
            for what, after in steps(state, self.rules):
                key = hash(after)
                if key in came_from:
                    continue
                came_from[key] = (from_key, what)
                waiting.append((after, key))
                wrong = _went_back(state, after)
                stored = after.stored
                if wrong is None and stored not in fine:
                    wrong = next(self.wrongs(stored), None)
                    fine.add(stored)
                if wrong is not None:
                    raise Violation(wrong, _path(came_from, key))
        self.states, self.stored = len(came_from), len(fine)

    def wrongs(self, stored: State) -> Iterator[str]:
        """The rules that stored contents must not break."""
        yield from inconsistencies(stored, self.rules)
        yield from self._after_recovery(stored)

    def _after_recovery(self, stored: State) -> Iterator[str]:
        """Check that each message has one answer after all workers died and the queue delivered again."""
        state = stored._replace(thread=stored.thread._replace(alive=False))
        for worker in (*dict.fromkeys(self.workers), Worker(Kind.FINISH, NOBODY)):
            while worker.pc is not Pc.DONE:
                _, state, worker = next(worker_steps(state, worker, self.rules))
        if state.thread.held or state.thread.run != NOBODY:
            yield f"after recovery a lease is left: {state.thread}"
        for message in {w.message for w in self.workers if w.kind in (Kind.MESSAGE, Kind.DELIVERY)}:
            if not any(m.message == message for m in state.committed):
                yield f"after recovery message {message} is not answered"
        for wrong in inconsistencies(state, self.rules):
            yield f"after recovery {wrong}"


def inconsistencies(state: State, rules: Rules) -> Iterator[str]:
    """The contents that must never be stored, with any worker still running."""
    now = tuple(m._replace(fence=0) if m else None for m in state.messages[: state.thread.pointer])
    if now != state.committed:
        yield f"what was committed is not what is stored: {state.committed} / {now}"
    questions = [m.message for m in state.committed if not m.is_answer]
    if len(questions) != len(set(questions)):
        yield "a message was answered twice"
    last = 0
    for entry, previous in _with_previous(state):
        if entry.first <= last:
            yield f"{entry} has numbers that were given out before"
        if previous != NOBODY and previous != last:
            yield f"{entry} lets clients drop from {previous}, not {last}"
        if previous == NOBODY and entry.first != last + 1:
            yield f"{entry} leaves a gap after {last} and does not say so"
        last = entry.last
    for question, answer in pairwise(state.committed):
        if answer.is_answer and (answer.message, answer.digest) != (question.message, question.digest):
            yield f"{answer} does not answer {question}"
    for entry in list_expected(state):
        for seen in state.posted:
            if clash(entry, seen):
                yield f"{entry} has a number that clients know as {seen}"
    if state.thread.run == NOBODY and not state.thread.held:
        yield from disagreements(state, rules)


def _with_previous(state: State) -> Iterator[tuple[Entry, int]]:
    reported = {m.first: m.previous for m in state.committed if m.first}
    reported |= {piece.first: piece.previous for piece in state.log if piece.message == NOBODY}
    for entry in list_expected(state):
        yield entry, reported.get(entry.first, NOBODY)


def _went_back(before: State, after: State) -> str | None:
    old_thread, new_thread = before.thread, after.thread
    if (
        new_thread.fence < old_thread.fence
        or new_thread.pointer < old_thread.pointer
        or new_thread.last < old_thread.last
    ):
        return "the fence, the pointer or the sequence went back"
    for old, new in zip(before.turns, after.turns, strict=True):
        if old is not None and (new is None or new.digest != old.digest):
            return "an accepted message was replaced by another"
    if after.committed[: len(before.committed)] != before.committed:
        return "a committed message was committed again"
    return None


def _path(came_from: dict[int, tuple[int, str]], key: int) -> list[str]:
    path: list[str] = []
    while key in came_from and came_from[key][1]:
        key, what = came_from[key]
        path.append(what)
    return path[::-1]
