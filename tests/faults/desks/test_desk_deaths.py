"""A worker that is killed at any call of a port while somebody acts at a desk: it is done once, or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from baton.composition.app import App, build
from baton.domain.desks.desk_session import ReturnReason
from baton.domain.errors import BatonError
from baton.domain.threads.desk_requests import (
    make_expiry_request,
    make_note_request,
    make_reply_request,
    make_return_request,
    make_take_request,
    make_transfer_request,
)
from baton.domain.threads.queued import QueuedClose, RecordDelivery
from baton.threads.requests.parsing import make_exit_request
from baton.threads.requests.queue_mapping import make_queued_close
from tests.faults.desks.play import PORTS, Death, Mortal
from tests.harness.desks import ANNA, DeskHarness

Make = Callable[[DeskHarness], Awaitable[Any]]


async def message(harness: DeskHarness) -> Any:
    return harness.request("m2", "Hello?")


async def next_message(harness: DeskHarness) -> Any:
    """A message that a worker gets that has seen the conversation at the desk: nothing stored shows its lease."""
    return harness.request("m3", "Are you there?")


async def next_leaving(harness: DeskHarness) -> Any:
    """A message to such a worker that needs a usual lease after all."""
    return harness.request("m3", "cancel")


async def ask_for_desk(harness: DeskHarness) -> Any:
    return harness.request("m2", "cancel")


async def take(harness: DeskHarness) -> Any:
    return make_take_request(await harness.thread(), await harness.session(), ANNA)


async def reply(harness: DeskHarness) -> Any:
    await harness.take()
    return make_reply_request(await harness.thread(), ANNA, "p1", "I am here.")


async def note(harness: DeskHarness) -> Any:
    return make_note_request(await harness.thread(), ANNA, "n1", "She is angry.")


async def hand_back(harness: DeskHarness) -> Any:
    await harness.take()
    return make_return_request(await harness.thread(), await harness.session(), ANNA, "All is well.")


async def hand_on(harness: DeskHarness) -> Any:
    await harness.take()
    return make_transfer_request(await harness.thread(), await harness.session(), ANNA, "billing", "Please.")


async def leave(harness: DeskHarness) -> Any:
    handoff_place = (await harness.thread()).conversation.handoff
    assert handoff_place is not None
    return make_exit_request(harness.thread_id, key=f"{handoff_place.ordinal}.{handoff_place.number}")


async def expire(harness: DeskHarness) -> Any:
    return make_expiry_request(await harness.thread(), await harness.session(), ReturnReason.NOBODY)


async def close(harness: DeskHarness) -> Any:
    await harness.take()
    return make_queued_close(harness.ada, harness.thread_id, 1, request_id="close", closed_by=ANNA)


async def carry_out(app: App, harness: DeskHarness, request: Any) -> None:
    """Carry out a request as a worker does."""
    if isinstance(request, QueuedClose):
        record = request.model_dump_json(by_alias=True)
        await app.queued_turns.run(record, "", RecordDelivery(request.request_id, 1), seconds=20)
    else:
        await app.turns.run(harness.ada, request, lambda event: None, seconds=20)


async def outcome_of(make: Make, death: Death | None) -> tuple[Any, ...]:
    """Return the state after a worker that dies, and another one that does the same again."""
    harness = DeskHarness()
    await harness.ask()
    request = await make(harness)
    questions = len(harness.model.requests)
    earlier = harness.request("m2", "Hello?") if make in (next_message, next_leaving) else None
    if death is not None:
        mortal = {name: Mortal(getattr(harness, name), death) for name in PORTS}
        app = build(harness.with_ports(**mortal))
        if earlier is not None:
            with death.postponed():
                await carry_out(app, harness, earlier)
        with suppress(BatonError):
            await carry_out(app, harness, request)
        harness.clock.advance(60)
    elif earlier is not None:
        await carry_out(build(harness), harness, earlier)
    await carry_out(build(harness), harness, request)
    assert len(harness.model.requests) == questions
    thread = await harness.thread()
    page = await harness.store.read_messages(harness.ada, thread, limit=100, before=None)
    records = [record.action for record in harness.audit.records if record.action.startswith("desk.")]
    desks = ("support", "billing")
    listing = [desk_id for desk_id in desks if await harness.desk_places.threads(harness.ada, desk_id, limit=5)]
    session = thread.conversation.desk
    return (
        thread.active_agent_id,
        (session.status, session.person, session.unread, session.last_message) if session is not None else None,
        [(stored.role, stored.text, stored.author) for stored in page.messages],
        sorted(records),
        listing,
    )


@pytest.mark.parametrize("is_done", [pytest.param(False, marks=pytest.mark.nightly), True], ids=["in front", "after"])
@pytest.mark.parametrize(
    "make",
    [message, next_message, next_leaving, ask_for_desk, take, reply, note, hand_back, hand_on, leave, expire, close],
)
async def test_what_a_killed_worker_has_begun_at_a_desk_is_done_once(make: Make, is_done: bool) -> None:
    whole = Death(10_000, is_done=False)
    expected = await outcome_of(make, whole)
    assert expected == await outcome_of(make, None)
    for at in range(1, whole.calls + 1):
        assert await outcome_of(make, Death(at, is_done=is_done)) == expected, f"killed at call {at}"
