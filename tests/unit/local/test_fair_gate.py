"""A tenant that sends very much waits, and others begin at once."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import AsyncExitStack

import pytest

from baton_local.gateway import fair_gate
from baton_local.gateway.fair_gate import (
    ALONE,
    CONTENDED,
    MAX_REST_SECONDS,
    OVERLOADED,
    REST,
    FairGate,
    tenant_of,
)


class Request:
    """A request that has begun once ``begun`` is set, and ends when ``end`` is set."""

    def __init__(self, gate: FairGate, tenant: str) -> None:
        self.begun, self.end = asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(self._run(gate, tenant))

    async def _run(self, gate: FairGate, tenant: str) -> None:
        async with gate.turn(tenant):
            self.begun.set()
            await self.end.wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def begun(requests: list[Request]) -> int:
    await settle()
    return sum(request.begun.is_set() for request in requests)


async def finish(*requests: Request) -> None:
    for request in requests:
        request.end.set()
    await asyncio.gather(*(request.task for request in requests))


async def test_a_tenant_alone_begins_several_requests_and_the_others_in_their_order() -> None:
    gate = FairGate(lambda: False)
    requests = [Request(gate, "flood") for _ in range(ALONE + 3)]
    assert await begun(requests) == ALONE
    await finish(requests[0])
    assert [request.begun.is_set() for request in requests] == [True] * (ALONE + 1) + [False] * 2
    await finish(*requests)


@pytest.mark.parametrize(("is_pressed", "room"), [(False, CONTENDED), (True, OVERLOADED)])
async def test_beside_others_a_flood_begins_little_and_the_others_at_once(is_pressed: bool, room: int) -> None:
    gate = FairGate(lambda: is_pressed)
    quiet = Request(gate, "quiet")
    await settle()
    flood = [Request(gate, "flood") for _ in range(50)]
    assert await begun(flood) == room
    await finish(quiet)
    again = Request(gate, "quiet")
    assert await begun([again]) == 1
    assert await begun(flood) == room
    await finish(again, *flood)


async def test_a_request_that_is_given_up_while_it_waits_leaves_no_trace() -> None:
    gate = FairGate(lambda: True)
    quiet, first, second, third = (Request(gate, name) for name in ("quiet", "flood", "flood", "flood"))
    assert await begun([first, second, third]) == OVERLOADED
    second.task.cancel()
    await asyncio.gather(second.task, return_exceptions=True)
    await finish(first)
    async with asyncio.timeout(30):
        await third.begun.wait()
    await finish(quiet, third)


async def test_a_request_that_waits_for_a_model_makes_room_for_others() -> None:
    gate = FairGate(lambda: False)
    async with AsyncExitStack() as stack:
        for _ in range(ALONE):
            await stack.enter_async_context(gate.turn("one"))
        async with asyncio.timeout(30), gate.turn("one"):
            pass


def test_the_tenant_is_the_one_of_the_token_or_the_address() -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"tenant": "acme"}).encode()).rstrip(b"=")
    token = b".".join((b"e30", claims, b"signature"))
    client = ("192.0.2.1", 4711)
    assert tenant_of({"headers": [(b"Authorization", b"Bearer " + token)], "client": client}) == "tenant acme"
    sockets = {"headers": [(b"sec-websocket-protocol", b"baton.v1, " + token)], "client": client}
    assert tenant_of(sockets) == "tenant acme"
    for header in (b"", b"Bearer", b"Bearer a.b.c", b"Bearer e30.W10.e30", b"Bearer \xff.\xff.\xff"):
        assert tenant_of({"headers": [(b"authorization", header)], "client": client}) == "client 192.0.2.1"
    assert tenant_of({"headers": [], "client": None}) == "client "


async def test_a_tenant_rests_after_the_work_that_its_messages_cause_in_a_queue() -> None:
    now = 0.0
    gate = FairGate(lambda: False, lambda: now)
    quiet = Request(gate, "quiet")
    await settle()
    flood = [Request(gate, "flood") for _ in range(CONTENDED + 2)]
    assert await begun(flood) == CONTENDED
    gate.charge("flood", 0.1)
    gate.charge("quiet", 0.1)
    await finish(*flood[:CONTENDED])
    assert await begun(flood[CONTENDED:]) == 0
    again = Request(gate, "quiet")
    assert await begun([again]) == 1
    now += REST * 0.1
    await finish(again)
    assert await begun(flood[CONTENDED:]) == 2
    await finish(quiet, *flood)


async def test_the_rests_of_a_tenant_add_up_to_a_limit() -> None:
    now = 0.0
    gate = FairGate(lambda: False, lambda: now)
    quiet = Request(gate, "quiet")
    await settle()
    flood = [Request(gate, "flood") for _ in range(CONTENDED + 1)]
    for _ in range(100):
        gate.charge("flood", 1.0)
    await finish(flood[0])
    now += MAX_REST_SECONDS
    await finish(flood[1])
    assert await begun(flood[CONTENDED:]) == 1
    await finish(quiet, *flood)


async def test_lanes_of_tenants_that_left_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_gate, "MAX_TENANTS", 3)
    gate = FairGate(lambda: False)
    for number in range(10):
        async with gate.turn(f"tenant {number}"):
            pass
    assert len(gate._lanes) == 3
