"""An endpoint that fails again and again is left alone for a while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.egress.circuit_breaker import CircuitBreakers, CircuitOpen


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Refused(Exception):
    """The endpoint is well and said no."""


class Street:
    """Breakers with a clock in hand: they open after three failures, for thirty seconds."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.breakers = CircuitBreakers(failures=3, open_seconds=30, monotonic=self.clock)

    async def call(self, outcome: BaseException | None = None, name: str = "model") -> None:
        async with self.breakers.guard(name, is_failure=lambda error: not isinstance(error, Refused)):
            if outcome is not None:
                raise outcome

    async def fail(self, times: int = 1, name: str = "model") -> None:
        for _ in range(times):
            with pytest.raises(ConnectionError):
                await self.call(ConnectionError(), name)

    async def refuse(self) -> None:
        with pytest.raises(Refused):
            await self.call(Refused())

    async def cancel(self) -> None:
        with pytest.raises(asyncio.CancelledError):
            await self.call(asyncio.CancelledError())

    async def is_open(self, name: str = "model") -> bool:
        """Return whether a call is turned away; if not, it was a good one."""
        try:
            await self.call(name=name)
        except CircuitOpen:
            return True
        return False


@pytest.fixture
def street() -> Street:
    return Street()


async def test_a_circuit_opens_after_three_failures_in_a_row(street: Street) -> None:
    await street.fail(3)
    with pytest.raises(CircuitOpen) as refusal:
        await street.call()
    assert (refusal.value.name, refusal.value.retry_after_seconds) == ("model", 30)


async def test_a_success_in_between_starts_the_count_again(street: Street) -> None:
    await street.fail(2)
    await street.call()
    await street.fail(2)
    assert not await street.is_open()


async def test_refused_calls_do_not_keep_the_circuit_open(street: Street) -> None:
    await street.fail(3)
    street.clock.now += 29.9
    assert await street.is_open()
    street.clock.now += 0.1
    assert not await street.is_open()


async def test_each_endpoint_has_a_separate_circuit(street: Street) -> None:
    await street.fail(3, "one")
    assert await street.is_open("one")
    assert not await street.is_open("other")


async def test_a_successful_trial_closes_the_circuit(street: Street) -> None:
    await street.fail(3)
    street.clock.now += 30
    await street.call()
    await street.fail(2)
    assert not await street.is_open()


async def test_a_failed_trial_opens_the_circuit_again(street: Street) -> None:
    await street.fail(3)
    street.clock.now += 30
    await street.fail()
    street.clock.now += 29
    assert await street.is_open()
    street.clock.now += 1
    assert not await street.is_open()


async def test_a_refusal_proves_the_endpoint_alive(street: Street) -> None:
    await street.fail(2)
    await street.refuse()
    await street.fail(2)
    assert not await street.is_open()
    await street.fail(3)
    street.clock.now += 30
    await street.refuse()
    assert not await street.is_open()


async def test_a_caller_who_leaves_says_nothing_about_the_endpoint(street: Street) -> None:
    await street.fail(2)
    await street.cancel()
    await street.fail()
    assert await street.is_open()


async def test_when_the_trial_is_cancelled_the_next_call_is_the_trial(street: Street) -> None:
    await street.fail(3)
    street.clock.now += 30
    await street.cancel()
    await street.fail()
    assert await street.is_open()


async def test_only_one_call_is_the_trial(street: Street) -> None:
    await street.fail(3)
    street.clock.now += 30
    async with street.breakers.guard("model"):
        assert await street.is_open()
    assert not await street.is_open()


async def test_a_trial_that_never_ends_holds_nobody_off_for_ever(street: Street) -> None:
    await street.fail(3)
    street.clock.now += 30
    async with street.breakers.guard("model"):
        street.clock.now += 30
        assert not await street.is_open()


async def test_a_call_that_began_before_the_circuit_opened_does_not_close_it(street: Street) -> None:
    async with street.breakers.guard("model"):
        await street.fail(3)
    assert await street.is_open()


async def test_a_generator_that_is_closed_early_counts_for_nothing(street: Street) -> None:
    async def words() -> AsyncGenerator[str, None]:
        async with street.breakers.guard("model"):
            yield "one"
            yield "two"

    await street.fail(2)
    async with aclosing(words()) as spoken:
        assert await anext(spoken) == "one"
    await street.fail()
    assert await street.is_open()


ACTS: dict[str, Callable[[], BaseException | None]] = {
    "good": lambda: None,
    "bad": ConnectionError,
    "refused": Refused,
    "cancelled": asyncio.CancelledError,
}


@given(st.lists(st.one_of(st.sampled_from(sorted(ACTS)), st.floats(0, 40))))
async def test_a_circuit_is_open_only_after_three_failures_and_for_a_bounded_time(acts: list[str | float]) -> None:
    street = Street()
    failures, opened_at = 0, -1000.0
    for act in acts:
        if isinstance(act, float):
            street.clock.now += act
            continue
        try:
            await street.call(ACTS[act]())
        except CircuitOpen:
            assert failures >= 3
            assert street.clock.now < opened_at + 30
            continue
        except (ConnectionError, Refused, asyncio.CancelledError):
            pass
        if act == "bad":
            failures, opened_at = failures + 1, street.clock.now
        elif act != "cancelled":
            failures = 0
