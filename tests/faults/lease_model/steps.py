"""The steps of the model: each is one request to the store, as ``conversation.turns`` and its neighbours make them."""

from __future__ import annotations

from collections.abc import Iterator

from tests.faults.lease_model.state import (
    FENCE_STEP,
    MAX_ATTEMPTS,
    NOBODY,
    RESERVED,
    Kind,
    Msg,
    Pc,
    Piece,
    Posted,
    Rules,
    State,
    Turn,
    Worker,
)
from tests.faults.lease_model.writes import (
    append,
    close,
    commit,
    commit_delivered,
    is_mine,
    last_message,
    previous_seq,
    put,
    put_delivered,
    release,
    usual,
    with_turn,
)

Step = tuple[str, State]


def steps(state: State, rules: Rules) -> Iterator[Step]:
    """Every state that can follow: one worker takes its next step, or the lease runs out."""
    if state.thread.alive and any(worker.pc is Pc.ACQUIRE for worker in state.workers):
        yield "the lease runs out", state._replace(thread=state.thread._replace(alive=False))
    for index, worker in enumerate(state.workers):
        if worker.pc is Pc.DONE or (index and worker == state.workers[index - 1]):
            continue
        for what, stored, after in worker_steps(state, worker, rules):
            if after.pc is Pc.DONE:
                after = Worker(after.kind, after.message, after.digest, Pc.DONE)
            others = state.workers[:index] + state.workers[index + 1 :]
            # Workers that came for the same are alike: their order says nothing.
            workers = tuple(sorted((*others, after), key=hash))
            yield (
                f"{worker.kind.name} {worker.message} (fence {worker.fence}): {what}",
                stored._replace(workers=workers),
            )


def worker_steps(state: State, worker: Worker, rules: Rules) -> Iterator[tuple[str, State, Worker]]:
    """The possible next steps of ``worker``: a label, the store afterwards, the worker afterwards."""
    match worker.pc:
        case Pc.READ:
            yield "read the thread", state, _read(state, worker)
        case Pc.DELIVER_TURN:
            existing = state.turns[worker.message]
            if existing is None:
                yield "open the turn", with_turn(state, worker), worker._replace(pc=Pc.DELIVER)
            else:
                is_own = (existing.fence, existing.digest) == (worker.fence, worker.digest)
                yield "find the turn", state, worker._replace(pc=Pc.DELIVER) if is_own else usual(worker)
        case Pc.DELIVER:
            yield put_delivered(state, worker, rules)
        case Pc.DELIVER_COMMIT:
            yield commit_delivered(state, worker, rules)
        case Pc.ACQUIRE:
            yield from _acquire(state, worker, rules)
        case Pc.ORPHAN_TURN:
            existing = state.turns[worker.target]
            there = existing is not None and existing.ordinal >= worker.pointer
            yield (
                "read the orphan's turn",
                state,
                worker._replace(known_turn=existing, pc=Pc.ORPHAN_QUESTION if there else _no_orphan(worker)),
            )
        case Pc.ORPHAN_QUESTION:
            yield "read the orphan's question", state, _orphan(state, worker, rules)
        case Pc.BEGIN_RUN:
            if not is_mine(state.thread, worker):
                yield "lease lost", state, worker._replace(pc=Pc.DONE)
            else:
                thread = state.thread._replace(run=worker.message, attempt=2)
                after = worker._replace(target=worker.message, content=worker.digest, attempt=2)
                yield "begin the run", state._replace(thread=thread), _begin(after, rules)
        case Pc.TAKE_OVER:
            if not is_mine(state.thread, worker):
                yield "lease lost", state, worker._replace(pc=Pc.DONE)
            else:
                attempt = worker.attempt + rules.takeover_counts
                yield (
                    "take over",
                    state._replace(thread=state.thread._replace(attempt=attempt)),
                    _begin(worker._replace(attempt=attempt), rules),
                )
        case Pc.COMPARE:
            existing = state.turns[worker.target]
            differs = existing is not None and existing.digest != worker.content
            then = Pc.OPEN if existing is None else Pc.ADOPT
            yield "compare", state, worker._replace(known_turn=existing, pc=_give_back(worker) if differs else then)
        case Pc.OPEN:
            yield from _open(state, worker, rules)
        case Pc.CHECK:
            yield "check what is known", state, _check(state, worker, rules)
        case Pc.ADOPT:
            yield "look for a complete answer", state, _look_for_answer(state, worker, rules)
        case Pc.REOPEN:
            existing = state.turns[worker.target]
            if rules.fenced_turns and existing is not None and existing.fence > worker.fence:
                yield "lease lost", state, worker._replace(pc=Pc.DONE)
            else:
                yield "reopen the turn", with_turn(state, worker), worker._replace(pc=Pc.STREAM)
        case Pc.STREAM:
            yield from _stream(state, worker)
        case Pc.END:
            end = last_message(worker, rules)
            yield put(state, worker, rules, worker.pointer + end.is_answer, end, Pc.COMMIT)
            if end.is_answer and not worker.logged:
                piece = Piece(worker.first, worker.fence, worker.target, worker.first + 1, previous_seq(worker, rules))
                yield append(state, worker, piece, worker._replace(logged=piece.last))
        case Pc.COMMIT | Pc.ADOPT_COMMIT:
            yield commit(state, worker, rules)
        case Pc.CLOSE_LOG:
            piece = Piece(worker.first, worker.fence, NOBODY, worker.first, previous_seq(worker, rules))
            yield append(state, worker, piece, worker._replace(pc=Pc.CLOSE))
        case Pc.CLOSE:
            yield close(state, worker, rules)
        case Pc.RELEASE:
            yield release(state, worker, rules)
        case Pc.ABANDON:
            mine = is_mine(state.thread, worker)
            thread = state.thread._replace(alive=False) if mine else state.thread
            yield "abandon", state._replace(thread=thread), worker._replace(pc=Pc.DONE)


def _read(state: State, worker: Worker) -> Worker:
    """Return the worker with an optimistic lease, or as it begins with a usual one."""
    thread = state.thread
    if thread.held or thread.run != NOBODY:
        return usual(worker)
    return worker._replace(
        fence=thread.fence + 1,
        first=thread.next,
        pointer=thread.pointer,
        last=thread.last,
        attempt=1,
        target=worker.message,
        content=worker.digest,
        pc=Pc.DELIVER_TURN,
    )


def _acquire(state: State, worker: Worker, rules: Rules) -> Iterator[tuple[str, State, Worker]]:
    thread = state.thread
    if thread.alive:
        if worker.kind is Kind.FINISH:
            yield "busy", state, worker._replace(pc=Pc.DONE)
        elif worker.kind is Kind.MESSAGE and _is_done(
            state, worker.message, state.turns[worker.message], thread.pointer
        ):
            yield "found answered", state, worker._replace(pc=Pc.DONE)
        return  # waits
    run, attempt = thread.run, thread.attempt
    if worker.kind is Kind.MESSAGE:
        attempt = 1 if run == NOBODY else attempt + rules.takeover_counts
        run = worker.message if run == NOBODY else run
    fence = thread.fence + FENCE_STEP
    acquired = thread._replace(
        fence=fence,
        held=True,
        alive=True,
        run=run,
        attempt=attempt,
        next=thread.next + (RESERVED if rules.numbers_reserved else 0),
    )
    after = worker._replace(
        fence=fence,
        first=thread.next,
        pointer=thread.pointer,
        last=thread.last,
        attempt=attempt,
        closed=thread.closed,
        target=run,
        content=worker.digest,
    )
    if run == NOBODY:
        after = after._replace(pc=_no_orphan(after))
    elif worker.kind is Kind.MESSAGE and run == worker.message:
        after = _begin(after, rules)
    elif worker.kind is Kind.MESSAGE and not rules.orphan_first:
        after = after._replace(pc=Pc.BEGIN_RUN)
    else:
        after = after._replace(pc=Pc.ORPHAN_TURN)
    yield "acquire", state._replace(thread=acquired), after


def _no_orphan(worker: Worker) -> Pc:
    """The steps of a worker that has found nothing to finish."""
    if worker.kind is Kind.MESSAGE:
        return Pc.BEGIN_RUN
    return Pc.RELEASE if worker.kind is Kind.FINISH or worker.closed else Pc.CLOSE_LOG


def _orphan(state: State, worker: Worker, rules: Rules) -> Worker:
    assert worker.known_turn is not None
    question = state.messages[worker.known_turn.ordinal]
    if question is None or question.is_answer or question.message != worker.target:
        return worker._replace(known_turn=None, pc=_no_orphan(worker))
    if question.digest != worker.known_turn.digest:
        return worker._replace(known_turn=None, pc=_no_orphan(worker))
    result = worker._replace(known_turn=None, content=question.digest)
    return _begin(result, rules) if worker.kind is Kind.MESSAGE else result._replace(pc=Pc.TAKE_OVER)


def _begin(worker: Worker, rules: Rules) -> Worker:
    compares = rules.digest_before_writing and worker.attempt > 1
    return worker._replace(pc=Pc.COMPARE if compares else Pc.OPEN)


def _open(state: State, worker: Worker, rules: Rules) -> Iterator[tuple[str, State, Worker]]:
    """Two writes at once: either may land first, and the second goes on when the first was refused."""
    turn_left, question_left = worker.open_left
    if turn_left:
        existing = state.turns[worker.target]
        opens = existing is None or not rules.turn_opened_once
        stored = with_turn(state, worker) if opens else state
        after = worker._replace(known_turn=None if opens else existing, open_left=(False, question_left))
        yield "open the turn", stored, _opened(after)
    if question_left:
        question = Msg(worker.fence, worker.target, worker.attempt, worker.content, is_answer=False)
        what, stored, after = put(state, worker, rules, worker.pointer, question, Pc.OPEN)
        after = worker._replace(open_left=(turn_left, False), lost=after.pc is Pc.DONE)
        yield f"question: {what}", stored, _opened(after)


def _opened(worker: Worker) -> Worker:
    if any(worker.open_left):
        return worker
    if worker.lost:
        return worker._replace(pc=Pc.DONE)
    return worker._replace(pc=Pc.STREAM if worker.known_turn is None else Pc.CHECK)


def _is_done(state: State, message: int, stored: Turn | None, pointer: int) -> bool:
    if stored is None or stored.ordinal >= pointer:
        return False
    question = state.messages[stored.ordinal]
    return question is not None and question.message == message


def _check(state: State, worker: Worker, rules: Rules) -> Worker:
    assert worker.known_turn is not None
    if worker.known_turn.digest != worker.content:
        return worker._replace(pc=_give_back(worker))
    done = _is_done(state, worker.target, worker.known_turn, worker.pointer)
    return worker._replace(pc=Pc.RELEASE if done and rules.done_check else Pc.REOPEN)


def _give_back(worker: Worker) -> Pc:
    return Pc.ABANDON if worker.attempt > 1 else Pc.RELEASE


def _look_for_answer(state: State, worker: Worker, rules: Rules) -> Worker:
    """Before anything is written: every message must bear the dead attempt's own fence."""
    assert worker.known_turn is not None
    answer = worker._replace(pc=Pc.OPEN)
    if worker.known_turn.ordinal != worker.pointer:
        return answer
    result = state.messages[worker.known_turn.ordinal + 1]
    if result is None or not result.is_answer or result.message != worker.target:
        return answer
    question = state.messages[worker.known_turn.ordinal]
    if question is None or question.is_answer or question.message != worker.target:
        return answer
    if rules.adoption_needs_same_writer and {question.fence, result.writer} != {worker.known_turn.fence}:
        return answer
    if rules.adoption_needs_nobody_between and worker.known_turn.fence != worker.fence - FENCE_STEP:
        return answer
    return worker._replace(found_message=result, pc=Pc.ADOPT_COMMIT)


def _stream(state: State, worker: Worker) -> Iterator[tuple[str, State, Worker]]:
    """RUN_STARTED and some text; an attempt that gives the run up says only RUN_STARTED, all of it in the tail."""
    gives_up = worker.attempt >= MAX_ATTEMPTS
    after = worker._replace(pc=Pc.END)
    if is_mine(state.thread, worker) and state.thread.alive:
        seen = (
            Posted(worker.first + step, worker.first, worker.target, worker.fence, worker.last)
            for step in range(2 - gives_up)
        )
        yield "stream", state._replace(posted=state.posted | frozenset(seen)), after
    else:
        yield "stream to nobody", state, after
