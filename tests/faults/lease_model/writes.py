"""The writes of the model, each with its guard."""

from __future__ import annotations

from tests.faults.lease_model.state import (
    MAX_ATTEMPTS,
    NOBODY,
    Kind,
    Msg,
    Pc,
    Piece,
    Rules,
    State,
    Thread,
    Turn,
    Worker,
)


def previous_seq(worker: Worker, rules: Rules) -> int:
    """``previousSeq`` of the worker's first event."""
    return worker.last if rules.jump_announced and worker.first > worker.last + 1 else NOBODY


def last_message(worker: Worker, rules: Rules) -> Msg:
    gives_up = worker.attempt >= MAX_ATTEMPTS
    return Msg(
        worker.fence,
        worker.target,
        worker.attempt,
        worker.content,
        is_answer=not gives_up,
        writer=worker.fence,
        first=worker.first,
        logged=worker.logged or worker.first - 1,
        last=worker.first + (1 if gives_up else 2),
        previous=previous_seq(worker, rules),
    )


def put(state: State, worker: Worker, rules: Rules, ordinal: int, message: Msg, then: Pc) -> tuple[str, State, Worker]:
    existing = state.messages[ordinal]
    if rules.fenced_messages and existing is not None and existing.fence > worker.fence:
        return "lease lost", state, worker._replace(pc=Pc.DONE)
    messages = list(state.messages)
    messages[ordinal] = message._replace(fence=worker.fence)
    return f"put message {ordinal}", state._replace(messages=tuple(messages)), worker._replace(pc=then)


def make_delivered(worker: Worker, rules: Rules) -> Msg:
    """Return the message of a delivery, with all events of its run."""
    return last_message(worker._replace(attempt=MAX_ATTEMPTS), rules)._replace(attempt=worker.attempt)


def put_delivered(state: State, worker: Worker, rules: Rules) -> tuple[str, State, Worker]:
    existing = state.messages[worker.pointer]
    if existing is not None and existing.fence + rules.delivery_writes_once > worker.fence:
        return "somebody else has written", state, usual(worker)
    messages = list(state.messages)
    messages[worker.pointer] = make_delivered(worker, rules)
    return "deliver", state._replace(messages=tuple(messages)), worker._replace(pc=Pc.DELIVER_COMMIT)


def commit_delivered(state: State, worker: Worker, rules: Rules) -> tuple[str, State, Worker]:
    thread = state.thread
    is_as_read = not thread.held and thread.fence == worker.fence - 1
    if rules.delivery_commits_what_it_read and not is_as_read:
        return "the thread is another", state, usual(worker)
    end, pointer = make_delivered(worker, rules), worker.pointer + 1
    thread = thread._replace(
        fence=worker.fence, held=False, alive=False, pointer=pointer, last=end.last, next=end.last + 1, run=NOBODY
    )
    new = tuple(m._replace(fence=0) for m in state.messages[worker.pointer : pointer] if m is not None)
    committed = state.committed[: worker.pointer] + new
    stored = state._replace(thread=thread._replace(attempt=0, closed=False), committed=committed)
    return "commit the delivery", stored, worker._replace(pc=Pc.DONE)


def usual(worker: Worker) -> Worker:
    """Return the worker as it begins again, with a lease that others see."""
    return Worker(Kind.MESSAGE, worker.message, worker.digest)


def append(state: State, worker: Worker, piece: Piece, then: Worker) -> tuple[str, State, Worker]:
    existing = next((entry for entry in state.log if entry.first == piece.first), None)
    if existing is not None and existing.fence > worker.fence:
        return "lease lost", state, worker._replace(pc=Pc.DONE)
    log = tuple(sorted((*(entry for entry in state.log if entry is not existing), piece)))
    return f"log from {piece.first}", state._replace(log=log), then


def commit(state: State, worker: Worker, rules: Rules) -> tuple[str, State, Worker]:
    if rules.fenced_commit and not is_mine(state.thread, worker):
        return "lease lost", state, worker._replace(pc=Pc.DONE)
    adopts = worker.pc is Pc.ADOPT_COMMIT
    end = worker.found_message if adopts and worker.found_message is not None else last_message(worker, rules)
    pointer = worker.pointer + 1 + end.is_answer
    thread = state.thread._replace(
        held=False, alive=False, pointer=pointer, last=end.last, next=end.last + 1, run=NOBODY, attempt=0, closed=False
    )
    new = tuple(m._replace(fence=0) for m in state.messages[worker.pointer : pointer] if m is not None)
    after = worker._replace(pc=Pc.DONE)
    if worker.target != worker.message or worker.kind is not Kind.MESSAGE:
        after = Worker(worker.kind, worker.message, worker.digest)  # an orphan's; now for what it came for
    what = "adopt" if adopts else "commit"
    return what, state._replace(thread=thread, committed=state.committed[: worker.pointer] + new), after


def close(state: State, worker: Worker, rules: Rules) -> tuple[str, State, Worker]:
    if rules.fenced_commit and not is_mine(state.thread, worker):
        return "lease lost", state, worker._replace(pc=Pc.DONE)
    thread = state.thread._replace(
        held=False, alive=False, last=worker.first, next=worker.first + 1, run=NOBODY, attempt=0, closed=True
    )
    closings = (*state.closings, (worker.first, worker.fence))
    return "close", state._replace(thread=thread, closings=closings), worker._replace(pc=Pc.DONE)


def release(state: State, worker: Worker, rules: Rules) -> tuple[str, State, Worker]:
    thread = state.thread
    if is_mine(thread, worker):
        following = worker.first if rules.release_returns_own_numbers else worker.last + 1
        thread = thread._replace(held=False, alive=False, next=following, run=NOBODY, attempt=0)
    return "release", state._replace(thread=thread), worker._replace(pc=Pc.DONE)


def with_turn(state: State, worker: Worker) -> State:
    turns = list(state.turns)
    turns[worker.target] = Turn(worker.fence, worker.attempt, worker.pointer, worker.content)
    return state._replace(turns=tuple(turns))


def is_mine(thread: Thread, worker: Worker) -> bool:
    return thread.held and thread.fence == worker.fence
