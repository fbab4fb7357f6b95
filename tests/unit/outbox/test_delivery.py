"""Posting events to connections."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from baton.domain.events import Event
from baton.domain.identity import Scope
from baton.outbox.delivery import MAX_BACKLOG, Delivery, send_to
from baton.ports.connections import ConnectionBusy, ConnectionGone
from tests.fakes.clock import FakeClock
from tests.fakes.connections import FakeConnections
from tests.fakes.live import FakeLiveRegistry

EVENTS = [Event({"type": "X", "n": number}, number) for number in range(3)]


@pytest.fixture
def connections() -> FakeConnections:
    return FakeConnections()


async def test_a_connection_gets_every_event_in_order(connections: FakeConnections) -> None:
    assert await send_to(connections, "tab", EVENTS)
    assert [event["n"] for event in connections.events("tab")] == [0, 1, 2]


async def test_a_busy_connection_gets_every_event_once_it_takes_them_again(connections: FakeConnections) -> None:
    connections.script("tab", None, ConnectionBusy(), None, ConnectionBusy())
    assert await send_to(connections, "tab", EVENTS)
    assert [event["n"] for event in connections.events("tab")] == [0, 1, 2]


async def test_a_connection_that_stays_busy_is_given_up(connections: FakeConnections) -> None:
    connections.script("tab", None, *[ConnectionBusy()] * 1000)
    async with asyncio.timeout(10):
        assert not await send_to(connections, "tab", EVENTS, patience=0.5)
    assert [event["n"] for event in connections.events("tab")] == [0]


async def test_a_connection_that_has_gone_is_left_alone(connections: FakeConnections) -> None:
    connections.script("tab", None, ConnectionGone())
    assert not await send_to(connections, "tab", EVENTS)
    assert [event["n"] for event in connections.events("tab")] == [0]


async def test_what_waits_for_a_slow_connection_is_bounded(connections: FakeConnections) -> None:
    clock, scope = FakeClock(), Scope("acme", "ada")
    later = clock.now() + timedelta(hours=1)
    delivery = Delivery(
        scope,
        "thread",
        live=FakeLiveRegistry(clock),
        connections=connections,
        clock=clock,
        lease_until=lambda: later,
    )
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
