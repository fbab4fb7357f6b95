"""Posting events to one connection."""

from __future__ import annotations

import asyncio

import pytest

from baton.conversation.delivery import send_to
from baton.domain.events import Event
from baton.ports.connections import ConnectionBusy, ConnectionGone
from tests.fakes.connections import FakeConnections

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
