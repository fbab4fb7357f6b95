"""Work without a caller: it is kept until its end, its failure is noticed, and its reader is never left waiting."""

from __future__ import annotations

import asyncio
import gc
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from baton.api.runs.background_turn import BackgroundTurn, Emit
from baton.domain.errors import BatonError, InternalError, LeaseLost, StoreUnavailable, ThreadUnavailable, TokenExpired
from baton.domain.metrics import Metric, collect_counts
from baton.domain.threads.events import Event
from baton.failures.reports import in_background

EVENT = Event({"type": "X"}, 1)


async def wait(seconds: float = 1) -> str:
    await asyncio.sleep(seconds)
    return "done"


async def fail(error: BaseException) -> str:
    await asyncio.sleep(1)
    raise error


async def test_work_in_the_background_outlives_its_caller() -> None:
    results: list[str] = []

    async def work() -> None:
        results.append(await wait())

    async def caller() -> None:
        in_background(work(), "work")

    await caller()
    gc.collect(1)
    await asyncio.sleep(2)
    assert results == ["done"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("a fault"), {Metric.INTERNAL_FAULTS: 1}),
        (KeyError("k"), {Metric.INTERNAL_FAULTS: 1}),
        (StoreUnavailable(), {}),
        (asyncio.CancelledError(), {}),
    ],
    ids=repr,
)
async def test_unexpected_failures_in_the_background_are_counted_and_none_is_lost(
    error: BaseException, expected: dict[Metric, int]
) -> None:
    lost: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: lost.append(context))
    counter: Counter[Metric] = Counter()
    with collect_counts(counter.update):
        in_background(fail(error), "work")
        await asyncio.sleep(2)
    gc.collect(1)
    loop.set_exception_handler(None)
    assert (dict(counter), lost) == (expected, [])


def make_work(error: BaseException | None) -> Callable[[Emit], Awaitable[str]]:
    async def work(emit: Emit) -> str:
        emit(EVENT)
        return await (wait() if error is None else fail(error))

    return work


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, None),
        (ThreadUnavailable(), ThreadUnavailable),
        (StoreUnavailable(), StoreUnavailable),
        (RuntimeError("a fault"), InternalError),
        (asyncio.CancelledError(), LeaseLost),
    ],
    ids=repr,
)
async def test_a_reader_finds_the_end_however_the_turn_ends(
    error: BaseException | None, expected: type[BatonError] | None
) -> None:
    turn: BackgroundTurn[str] = BackgroundTurn(make_work(error))  # type: ignore[arg-type]
    assert await turn.read_next() == EVENT
    if expected is None:
        assert (await turn.read_next(), await turn.read_next(), await turn.wait_for_result()) == (None, None, "done")
    else:
        for read in (turn.read_next, turn.read_next, turn.wait_for_result):
            with pytest.raises(expected):
                await read()
    assert turn.is_over


@pytest.mark.parametrize("seconds", [None, 0, 0.5])
async def test_a_reader_of_a_cancelled_turn_learns_that_another_worker_goes_on(seconds: float | None) -> None:
    before = asyncio.all_tasks()
    turn: BackgroundTurn[str] = BackgroundTurn(lambda emit: wait(60))
    reader = asyncio.ensure_future(turn.read_next())
    waiting = asyncio.ensure_future(turn.wait_for_result())
    if seconds is not None:
        await asyncio.sleep(seconds)
    for task in asyncio.all_tasks() - before - {reader, waiting}:
        task.cancel()  # as when the process stops
    for waiter in (reader, waiting):
        with pytest.raises(LeaseLost):
            await waiter


async def test_a_turn_goes_on_when_its_reader_leaves() -> None:
    turn: BackgroundTurn[str] = BackgroundTurn(lambda emit: wait(5))
    for read in (turn.read_next, turn.wait_for_result):
        reader = asyncio.ensure_future(read())
        await asyncio.sleep(1)
        reader.cancel()
    await turn.wait_for_start()
    assert await turn.wait_for_result() == "done"


async def test_a_reader_waits_no_longer_than_it_says() -> None:
    turn: BackgroundTurn[str] = BackgroundTurn(lambda emit: wait(5))
    with pytest.raises(TimeoutError):
        await turn.read_next(asyncio.get_running_loop().time() + 1)
    assert await turn.read_next() is None


def make_speaker(*pauses: float) -> Callable[[Emit], Coroutine[Any, Any, str]]:
    async def work(emit: Emit) -> str:
        for seconds in pauses:
            await asyncio.sleep(seconds)
            emit(EVENT)
        return "done"

    return work


@pytest.mark.parametrize(
    ("pauses", "again", "expected"),
    [
        ((1, 1), False, [EVENT, EVENT]),
        ((12, 12), False, [None, EVENT, EVENT]),
        ((1, 12), False, [EVENT, EVENT]),
        ((12, 12), True, [None, None, EVENT, None, None, EVENT]),
        ((1, 12), True, [EVENT, None, None, EVENT]),
        ((), True, []),
    ],
)
async def test_silence_is_reported_before_the_first_event_or_each_time(
    pauses: tuple[float, ...], again: bool, expected: list[Event | None]
) -> None:
    turn = BackgroundTurn(make_speaker(*pauses))
    assert [event async for event in turn.read_events(math.inf, quiet_seconds=5, again=again)] == expected
    assert await turn.wait_for_result() == "done"


@pytest.mark.parametrize("again", [True, False])
async def test_events_end_with_the_token_and_the_turn_goes_on(again: bool) -> None:
    turn = BackgroundTurn(make_speaker(1, 100))
    events = turn.read_events(asyncio.get_running_loop().time() + 20, quiet_seconds=15, again=again)
    assert await anext(events) == EVENT
    if again:
        assert await anext(events) is None
    with pytest.raises(TokenExpired):
        await anext(events)
    assert not turn.is_over
    assert await turn.wait_for_result() == "done"
