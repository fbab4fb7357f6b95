"""The cache of the settings: no request waits while there is a copy, and a good copy outlives every failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from baton.adapters.cached_value import RefreshedValue
from baton.domain.errors import InternalError, StoreUnavailable
from tests.unit.identity.signing import Monotonic


class World:
    """A source, its cache, and the reads that wait in the background until ``settle``."""

    def __init__(self) -> None:
        self.time = Monotonic()
        self.reads = 0
        self.error: Exception | None = None
        self.waiting: list[Callable[[], None]] = []
        self.cached = RefreshedValue(self.read, monotonic=self.time, start=self.waiting.append)

    def read(self) -> int:
        self.reads += 1
        if self.error is not None:
            raise self.error
        return self.reads

    def read_after(self, seconds: float) -> int:
        self.time.pass_(seconds)
        return self.cached.get()

    def settle(self) -> None:
        while self.waiting:
            self.waiting.pop()()


@pytest.fixture
def world() -> World:
    return World()


def test_a_copy_serves_five_minutes_and_is_read_again_behind_the_scenes(world: World) -> None:
    assert [world.cached.get(), world.read_after(299)] == [1, 1]
    assert not world.waiting
    assert world.read_after(1) == 1  # does not wait
    assert world.reads == 1
    world.settle()
    assert world.cached.get() == 2


def test_only_one_read_is_under_way(world: World) -> None:
    world.cached.get()
    assert [world.read_after(300), world.cached.get(), world.read_after(20)] == [1, 1, 1]
    assert len(world.waiting) == 1


def test_a_process_that_was_idle_reads_before_it_uses_an_old_copy(world: World) -> None:
    world.cached.get()
    assert world.read_after(600) == 2
    assert not world.waiting


@pytest.mark.parametrize("error", [StoreUnavailable(), InternalError("is invalid"), RuntimeError("unexpected")])
def test_a_failure_leaves_the_last_good_copy_for_as_long_as_it_lasts(
    world: World, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    world.cached.get()
    world.error = error
    assert world.read_after(300) == 1
    with caplog.at_level(logging.ERROR):
        world.settle()
    assert len(caplog.records) == 1
    assert world.read_after(29) == 1
    assert not world.waiting  # repeated after half a minute at the earliest
    assert world.read_after(1) == 1
    world.settle()
    assert world.reads == 3
    assert world.read_after(86_400) == 1
    world.error = None
    assert world.read_after(30) == 1
    world.settle()
    assert world.cached.get() == world.reads


def test_without_a_copy_the_failure_is_raised_and_repeated_soon(world: World) -> None:
    world.error = InternalError("s3://bucket is invalid")
    for _ in range(2):
        with pytest.raises(InternalError) as raised:
            world.cached.get()
        assert raised.value.detail != "s3://bucket is invalid"  # that is for operators
    assert world.reads == 1
    world.error = None
    assert world.read_after(5) == 2


def test_it_says_when_a_request_would_wait(world: World) -> None:
    assert world.cached.must_read()
    world.error = StoreUnavailable()
    with pytest.raises(StoreUnavailable):
        world.cached.get()
    assert not world.cached.must_read()  # the failure is raised at once
    world.error = None
    assert world.read_after(5) == 2
    assert not world.cached.must_read()
    world.time.pass_(300)
    assert not world.cached.must_read()  # a thread reads
    world.time.pass_(300)
    assert world.cached.must_read()


def test_requests_of_other_threads_get_the_copy_while_one_thread_reads() -> None:
    reading, may_end = threading.Event(), threading.Event()
    time, reads = Monotonic(), iter(range(1, 10))

    def read() -> int:
        number = next(reads)
        if number == 2:
            reading.set()
            assert may_end.wait(30)
        return number

    cached = RefreshedValue(read, monotonic=time)
    assert cached.get() == 1
    time.pass_(300)
    assert cached.get() == 1
    assert reading.wait(30)
    assert cached.get() == 1
    may_end.set()
    [thread] = [item for item in threading.enumerate() if item.name == "settings"] or [threading.current_thread()]
    if thread is not threading.current_thread():
        thread.join(30)
    assert cached.get() == 2
