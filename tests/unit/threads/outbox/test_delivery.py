"""Posting events to connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton.domain.threads.thread import USUAL_TIMES
from baton.ports.threads.connections import ConnectionBusy, ConnectionGone
from baton.threads.outbox.connection_sender import MAX_BACKLOG, send_to
from baton.threads.outbox.delivery import Delivery
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.threads.connections import FakeConnections, events_in
from baton_testing.fakes.threads.live import FakeLiveRegistry

EVENTS = [Event({"type": "X", "n": number}, number) for number in range(3)]
LARGE = [Event({"type": "X", "n": number, "text": "x" * 20_000}, number) for number in range(3)]
"""Each needs a separate frame."""


@pytest.fixture
def connections() -> FakeConnections:
    return FakeConnections()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def later(clock: FakeClock) -> datetime:
    return clock.now() + timedelta(hours=1)


@pytest.fixture
def delivery(connections: FakeConnections, clock: FakeClock, later: datetime) -> Delivery:
    return make_delivery(connections, clock, lambda: later)


def make_delivery(connections: FakeConnections, clock: FakeClock, lease_until: Callable[[], datetime]) -> Delivery:
    return Delivery(
        Scope("acme", "ada"),
        "thread",
        live=FakeLiveRegistry(clock),
        connections=connections,
        clock=clock,
        lease_until=lease_until,
    )


async def test_a_connection_gets_every_event_in_order_and_in_one_frame(connections: FakeConnections) -> None:
    assert await send_to(connections, "tab", EVENTS)
    assert [event["n"] for event in connections.events("tab")] == [0, 1, 2]
    assert len(connections.frames["tab"]) == 1


async def test_a_busy_connection_gets_every_event_once_it_takes_them_again(connections: FakeConnections) -> None:
    connections.script("tab", None, ConnectionBusy(), None, ConnectionBusy())
    assert await send_to(connections, "tab", LARGE)
    assert [event["n"] for event in connections.events("tab")] == [0, 1, 2]


async def test_a_connection_that_stays_busy_is_given_up(connections: FakeConnections) -> None:
    connections.script("tab", None, *[ConnectionBusy()] * 1000)
    async with asyncio.timeout(10):
        assert not await send_to(connections, "tab", LARGE, patience=0.5)
    assert [event["n"] for event in connections.events("tab")] == [0]


async def test_a_connection_that_has_gone_is_left_alone(connections: FakeConnections) -> None:
    connections.script("tab", None, ConnectionGone())
    assert not await send_to(connections, "tab", LARGE)
    assert [event["n"] for event in connections.events("tab")] == [0]


async def test_what_is_ready_at_the_same_moment_is_one_frame(
    connections: FakeConnections, delivery: Delivery, later: datetime
) -> None:
    await delivery.join("tab", later)
    for event in EVENTS:
        delivery.post([event])
    await asyncio.sleep(0.01)
    delivery.post(EVENTS[:1])
    await delivery.drain()
    assert [len(events_in(frame)) for frame in connections.frames["tab"]] == [3, 1]


async def test_what_comes_while_a_frame_is_on_its_way_shares_the_next(
    connections: FakeConnections, delivery: Delivery, later: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    post, arrived = connections.post, asyncio.Event()

    async def slow_post(connection_id: str, frame: str) -> None:
        await arrived.wait()
        await post(connection_id, frame)

    monkeypatch.setattr(connections, "post", slow_post)
    await delivery.join("tab", later)
    for event in EVENTS:
        delivery.post([event])
        await asyncio.sleep(0.01)
    arrived.set()
    await delivery.drain()
    assert [[event["n"] for event in events_in(frame)] for frame in connections.frames["tab"]] == [[0], [1, 2]]


async def test_what_comes_while_the_gateway_throttles_goes_with_the_next_try(
    connections: FakeConnections, delivery: Delivery, later: datetime
) -> None:
    connections.script("tab", ConnectionBusy())
    await delivery.join("tab", later)
    for event in EVENTS:
        delivery.post([event])
        await asyncio.sleep(0.01)
    await delivery.drain()
    assert [[event["n"] for event in events_in(frame)] for frame in connections.frames["tab"]] == [[0, 1, 2]]


async def test_nothing_leaves_near_the_end_of_the_lease_and_everything_after_its_renewal(
    connections: FakeConnections, clock: FakeClock, later: datetime
) -> None:
    until = clock.now() + timedelta(seconds=USUAL_TIMES.margin)
    delivery = make_delivery(connections, clock, lambda: until)
    await delivery.join("tab", later)
    delivery.post(EVENTS)
    await asyncio.sleep(0.05)
    assert connections.frames["tab"] == []
    until += timedelta(seconds=10)
    await delivery.drain()
    assert [event["n"] for event in connections.events("tab")] == [0, 1, 2]


async def test_what_waits_when_the_lease_is_lost_is_never_sent(
    connections: FakeConnections, delivery: Delivery, later: datetime
) -> None:
    connections.script("tab", ConnectionBusy())
    await delivery.join("tab", later)
    delivery.post(EVENTS)
    await asyncio.sleep(0.01)
    delivery.stop()
    await asyncio.sleep(0.2)
    assert connections.frames["tab"] == []


async def test_what_waits_for_a_slow_connection_is_bounded(
    connections: FakeConnections, delivery: Delivery, later: datetime
) -> None:
    connections.script("slow", *[ConnectionBusy()] * 2)
    for name in ("slow", "quick"):
        await delivery.join(name, later)
    text, size = "x" * 20_000, MAX_BACKLOG // 20_000 + 10
    for number in range(size):
        delivery.post([Event({"type": "X", "text": text, "metadata": {}}, number)])
        if number % 50 == 0:  # the quick one takes them meanwhile
            await asyncio.sleep(0.01)
    await delivery.refresh(logged_seq=size)
    await delivery.refresh(logged_seq=size)
    delivery.post([Event({"type": "LAST", "metadata": {}}, size)])
    await delivery.drain()
    assert [event["type"] for event in connections.events("quick")] == ["X"] * size + ["LAST"]
    assert [event["type"] for event in connections.events("slow")][-1:] == ["LAST"]
    assert len(connections.events("slow")) < size
