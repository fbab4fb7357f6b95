"""A user or a tenant that sends very much waits; colleagues and other tenants begin at once."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import AsyncExitStack

import pytest

from baton_local.gateway import fair_gate
from baton_local.gateway.callers import Caller, read_caller, read_sender
from baton_local.gateway.fair_gate import ALONE, CONTENDED, MAX_REST_SECONDS, OVERLOADED, REST, FairGate


class Request:
    """A request that has begun once ``has_begun`` is set, and ends when ``end`` is set."""

    def __init__(self, gate: FairGate, tenant: str, user: str = "") -> None:
        self.has_begun, self.end = asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(self._run(gate, Caller(tenant, user)))

    async def _run(self, gate: FairGate, caller: Caller) -> None:
        async with gate.turn(caller):
            self.has_begun.set()
            await self.end.wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def count_begun(requests: list[Request]) -> int:
    await settle()
    return sum(request.has_begun.is_set() for request in requests)


async def finish(*requests: Request) -> None:
    for request in requests:
        request.end.set()
    await asyncio.gather(*(request.task for request in requests))


async def test_a_tenant_alone_begins_several_requests_and_the_others_in_their_order() -> None:
    gate = FairGate(lambda: False)
    requests = [Request(gate, "flood") for _ in range(ALONE + 3)]
    assert await count_begun(requests) == ALONE
    await finish(requests[0])
    assert [request.has_begun.is_set() for request in requests] == [True] * (ALONE + 1) + [False] * 2
    await finish(*requests)


@pytest.mark.parametrize(("is_pressed", "room"), [(False, CONTENDED), (True, OVERLOADED)])
async def test_beside_others_a_flood_begins_little_and_the_others_at_once(is_pressed: bool, room: int) -> None:
    gate = FairGate(lambda: is_pressed)
    quiet = Request(gate, "quiet")
    await settle()
    flood = [Request(gate, "flood") for _ in range(50)]
    assert await count_begun(flood) == room
    await finish(quiet)
    next_request = Request(gate, "quiet")
    assert await count_begun([next_request]) == 1
    assert await count_begun(flood) == room
    await finish(next_request, *flood)


async def test_a_request_that_is_given_up_while_it_waits_leaves_no_trace() -> None:
    gate = FairGate(lambda: True)
    quiet, first, second, third = (Request(gate, name) for name in ("quiet", "flood", "flood", "flood"))
    assert await count_begun([first, second, third]) == OVERLOADED
    second.task.cancel()
    await asyncio.gather(second.task, return_exceptions=True)
    await finish(first)
    async with asyncio.timeout(30):
        await third.has_begun.wait()
    await finish(quiet, third)


async def test_a_request_that_waits_for_a_model_makes_room_for_others() -> None:
    gate = FairGate(lambda: False)
    async with AsyncExitStack() as stack:
        for _ in range(ALONE):
            await stack.enter_async_context(gate.turn(Caller("one")))
        async with asyncio.timeout(30), gate.turn(Caller("one")):
            pass


def test_the_caller_is_the_user_of_the_token_or_the_address() -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"tenant": "acme", "sub": "ada"}).encode()).rstrip(b"=")
    token = b".".join((b"e30", claims, b"signature"))
    client = ("192.0.2.1", 4711)
    ada = Caller("tenant acme", "ada")
    assert read_caller({"headers": [(b"Authorization", b"Bearer " + token)], "client": client}) == ada
    sockets = {"headers": [(b"sec-websocket-protocol", b"baton.v1, " + token)], "client": client}
    assert read_caller(sockets) == ada
    deep = b"Bearer e30." + base64.urlsafe_b64encode(b"[" * 30_000) + b".e30"
    for header in (b"", b"Bearer", b"Bearer a.b.c", b"Bearer e30.W10.e30", b"Bearer \xff.\xff.\xff", deep):
        assert read_caller({"headers": [(b"authorization", header)], "client": client}) == Caller("client 192.0.2.1")
    assert read_caller({"headers": [], "client": None}) == Caller("client ")


@pytest.mark.parametrize("body", ["a message", "[]", "{}", '{"tenantId": 1}', "[" * 100_000])
def test_a_queues_message_without_a_sender_is_charged_to_nobody(body: str) -> None:
    assert read_sender(body) is None


async def test_a_tenant_rests_after_the_work_that_its_messages_cause_in_a_queue() -> None:
    now = 0.0
    gate = FairGate(lambda: False, lambda: now)
    quiet = Request(gate, "quiet")
    await settle()
    flood = [Request(gate, "flood") for _ in range(CONTENDED + 2)]
    assert await count_begun(flood) == CONTENDED
    gate.charge(Caller("flood"), 0.1)
    gate.charge(Caller("quiet"), 0.1)
    await finish(*flood[:CONTENDED])
    assert await count_begun(flood[CONTENDED:]) == 0
    next_request = Request(gate, "quiet")
    assert await count_begun([next_request]) == 1
    now += REST * 0.1
    await finish(next_request)
    assert await count_begun(flood[CONTENDED:]) == 2
    await finish(quiet, *flood)


async def test_the_rests_of_a_tenant_add_up_to_a_limit() -> None:
    now = 0.0
    gate = FairGate(lambda: False, lambda: now)
    quiet = Request(gate, "quiet")
    await settle()
    flood = [Request(gate, "flood") for _ in range(CONTENDED + 1)]
    for _ in range(100):
        gate.charge(Caller("flood"), 1.0)
    await finish(flood[0])
    now += MAX_REST_SECONDS
    await finish(flood[1])
    assert await count_begun(flood[CONTENDED:]) == 1
    await finish(quiet, *flood)


@pytest.mark.parametrize(("is_pressed", "room"), [(False, CONTENDED), (True, OVERLOADED)])
@pytest.mark.parametrize("others", [(), ("other",)], ids=["alone", "beside another tenant"])
async def test_a_user_who_floods_begins_little_and_colleagues_at_once(
    is_pressed: bool, room: int, others: tuple[str, ...]
) -> None:
    gate = FairGate(lambda: is_pressed)
    quiet = [Request(gate, "acme", "bob"), *(Request(gate, other) for other in others)]
    await settle()
    flood = [Request(gate, "acme", "ada") for _ in range(100)]
    assert await count_begun(flood) == room
    for _ in range(3):
        await finish(quiet[0])
        quiet[0] = Request(gate, "acme", "bob")
        assert await count_begun(quiet[:1]) == 1
        assert await count_begun(flood) == room
    await finish(*quiet, *flood)


async def test_a_user_alone_with_several_tabs_shares_with_nobody() -> None:
    gate = FairGate(lambda: True)
    requests = [Request(gate, "acme", "ada") for _ in range(ALONE)]
    assert await count_begun(requests) == ALONE
    await finish(*requests)


async def test_a_tenant_gains_nothing_by_dividing_its_requests_among_many_users() -> None:
    gate = FairGate(lambda: False)
    quiet = Request(gate, "quiet")
    await settle()
    flood = [Request(gate, "flood", f"user {number}") for number in range(100)]
    assert await count_begun(flood) == 2 * CONTENDED
    next_request = Request(gate, "quiet", "another")
    assert await count_begun([next_request]) == 1
    await finish(quiet, next_request, *flood)


async def test_a_colleague_does_not_rest_for_a_user_who_floods() -> None:
    now = 0.0
    gate = FairGate(lambda: False, lambda: now)
    others = [Request(gate, "other"), Request(gate, "acme", "bob")]
    await settle()
    flood = [Request(gate, "acme", "ada") for _ in range(CONTENDED + 1)]
    await settle()
    gate.charge(Caller("acme", "ada"), 0.1)
    await finish(*flood[:CONTENDED], others[1])
    assert await count_begun(flood[CONTENDED:]) == 0
    next_request = Request(gate, "acme", "bob")
    assert await count_begun([next_request]) == 1
    now += REST * 0.1
    await finish(next_request, others[0])
    await finish(*flood)


async def test_users_of_a_tenant_take_turns() -> None:
    gate = FairGate(lambda: False, lambda: 0.0)
    other = Request(gate, "other")
    await settle()
    requests = [Request(gate, "acme", user) for user in ("ada", "ada", "ada", "bob", "cyd", "cyd", "dan")]
    expected = [True, True, False, True, True, False, False]
    await settle()
    assert [request.has_begun.is_set() for request in requests] == expected
    await finish(requests[0])
    await settle()
    assert requests[6].has_begun.is_set(), "dan has begun nothing yet"
    assert not requests[2].has_begun.is_set()
    await finish(other, *requests)


async def test_the_work_of_a_queues_message_is_charged_to_its_sender() -> None:
    now = 0.0
    gate = FairGate(lambda: False, lambda: now)
    bob = Request(gate, "tenant acme", "bob")
    await settle()
    flood = [Request(gate, "tenant acme", "ada") for _ in range(CONTENDED + 1)]
    await settle()
    gate.charge_record(json.dumps({"tenantId": "acme", "userId": "ada"}), 0.1)
    await settle()
    await finish(*flood[:CONTENDED])
    assert await count_begun(flood[CONTENDED:]) == 0
    now += REST * 0.1
    await finish(bob)
    await finish(*flood)


async def test_lanes_of_tenants_that_left_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_gate, "MAX_SHARES", 3)
    gate = FairGate(lambda: False)
    for number in range(10):
        async with gate.turn(Caller(f"tenant {number}")):
            pass
    assert len(gate._tenants) == 3


async def test_waiting_requests_that_are_cancelled_together_while_others_leave() -> None:
    gate = FairGate(lambda: False)
    running = [Request(gate, "flood") for _ in range(ALONE)]
    waiting = [Request(gate, "flood") for _ in range(3)]
    await settle()
    for request in running:
        request.end.set()
    for request in waiting:
        request.task.cancel()
    await asyncio.gather(*(request.task for request in running))
    ends = await asyncio.gather(*(request.task for request in waiting), return_exceptions=True)
    assert [type(end) for end in ends] == [asyncio.CancelledError] * 3
