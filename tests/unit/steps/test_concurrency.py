"""Steps that are awaited together: nothing goes on behind the caller's back, however the caller or a step ends."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing

import pytest

from baton.concurrency.tasks import call_until, gather_all, gather_each, stop_all

pytestmark = pytest.mark.usefixtures("no_lost_failures")


class Failure(Exception):
    pass


class Work:
    """Steps that count how many are in progress."""

    def __init__(self) -> None:
        self.start_count = 0
        self.in_progress = 0
        self.most = 0

    async def step(self, seconds: float = 1.0, error: type[BaseException] | None = None) -> float:
        self.start_count += 1
        self.in_progress += 1
        self.most = max(self.most, self.in_progress)
        try:
            await asyncio.sleep(seconds)
            if error is not None:
                raise error
        except asyncio.CancelledError:
            await asyncio.sleep(1.0)  # closing what it uses takes time
            raise
        finally:
            self.in_progress -= 1
        return seconds


@pytest.fixture
async def no_lost_failures() -> AsyncIterator[None]:
    """Fail if a task ends with an exception that nobody looks at, or a coroutine is never awaited (a warning)."""
    lost: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: lost.append(context))
    yield
    gc.collect(1)
    loop.set_exception_handler(None)
    assert not lost


async def draw(items: int) -> AsyncGenerator[int, None]:
    for number in range(items):
        yield number


def run_together(work: Work) -> Coroutine[None, None, object]:
    return gather_all(*(work.step(seconds) for seconds in (1, 2, 3)))


def one_by_one(work: Work) -> Coroutine[None, None, object]:
    return gather_each((1, 2, 3, 4, 5), work.step, at_once=2)


async def wait_until_cancelled(work: Work) -> None:
    async def deal(number: int) -> None:
        await work.step(5 + number)

    async with aclosing(draw(9)) as items:
        await call_until(asyncio.get_running_loop().time() + 90, items, deal, at_once=3)


async def wait_until_stopped(work: Work) -> None:
    await stop_all(*(asyncio.ensure_future(work.step(50)) for _ in range(3)))


WAYS: list[Callable[[Work], Awaitable[object]]] = [run_together, one_by_one, wait_until_cancelled, wait_until_stopped]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cancelled_after", [(0,), (0.5,), (1.5,), (1.5, 0.5), (1.5, 0, 0.5)])
async def test_a_cancelled_caller_goes_on_only_once_its_steps_have_ended(
    way: Callable[[Work], Awaitable[object]], cancelled_after: tuple[float, ...]
) -> None:
    work = Work()

    async def caller() -> None:
        try:
            await way(work)
        except asyncio.CancelledError:
            assert work.in_progress == 0
            raise

    task = asyncio.ensure_future(caller())
    await asyncio.sleep(0)
    for seconds in cancelled_after:
        await asyncio.sleep(seconds)
        task.cancel()
    await asyncio.wait([task])
    started = work.start_count
    await asyncio.sleep(60)
    assert (work.in_progress, work.start_count) == (0, started)
    if not task.cancelled():
        task.result()  # it had ended before


@pytest.mark.parametrize("way", [run_together, one_by_one])
async def test_a_time_limit_cancels_the_steps_and_is_reported_as_a_time_limit(
    way: Callable[[Work], Awaitable[object]],
) -> None:
    work = Work()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.5):
            await way(work)
    assert work.in_progress == 0


async def test_the_first_failure_is_raised_once_every_step_has_ended() -> None:
    work = Work()
    with pytest.raises(Failure):
        await gather_all(work.step(3), work.step(1, Failure), work.step(2, KeyError))
    assert (work.start_count, work.in_progress) == (3, 0)


async def test_results_stand_in_the_order_of_their_steps() -> None:
    work = Work()
    assert await gather_all(work.step(3), work.step(1)) == [3, 1]
    assert await gather_each([3, 1, 2], work.step, at_once=2) == [3, 1, 2]
    assert await gather_each([], work.step, at_once=2) == []
    assert await gather_all() == []


async def test_at_most_so_many_steps_are_in_progress() -> None:
    work = Work()
    await gather_each([1] * 10, work.step, at_once=4)
    assert (work.start_count, work.most) == (10, 4)


@pytest.mark.parametrize("failing", range(5))
async def test_after_a_failure_no_step_is_begun(failing: int) -> None:
    work = Work()
    with pytest.raises(Failure):
        await gather_each(range(40), lambda n: work.step(1, Failure if n == failing else None), at_once=2)
    assert failing < work.start_count <= failing + 3
    assert work.in_progress == 0


async def test_after_a_step_that_fails_at_once_no_step_is_begun() -> None:
    starts: list[int] = []

    async def fail(number: int) -> None:
        starts.append(number)
        raise Failure

    with pytest.raises(Failure):
        await gather_each(range(5), fail, at_once=3)
    assert starts == [0]
