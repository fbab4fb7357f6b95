"""Asking for the people of a desk over WebSocket."""

from __future__ import annotations

from dataclasses import replace

from baton.entry.actions import ACTIONS
from tests.harness.desks import DeskHarness
from tests.harness.handoffs import HandoffHarness
from tests.harness.sockets import Socketed
from tests.unit.api.served import Served


async def ask_for_desk(**fields: str) -> tuple[DeskHarness, Socketed]:
    """Ada, whose token gives her name and language, asks for a desk in her conversation."""
    harness = DeskHarness()
    harness.ada = replace(harness.ada, name="Ada Lovelace", locale="de-AT")
    await harness.say("m0", "Hello", subscriber=harness.subscriber("tab"))
    socket = Socketed(harness)
    socket.take_events()
    await socket.send("desk", **fields)
    await socket.run_queue()
    return harness, socket


async def test_the_user_comes_to_the_desk_with_their_name_and_language() -> None:
    harness, socket = await ask_for_desk(deskId="billing")
    session = await harness.session()
    assert (session.user_name, session.user_locale) == ("Ada Lovelace", "de-AT")
    assert (await harness.thread()).active_agent_id == "billing"
    assert any(
        "Billing team" in event.get("delta", "") for event in socket.take_events() if event["type"].startswith("TEXT")
    )


async def test_people_of_another_desk_are_shown_them_too() -> None:
    harness, _ = await ask_for_desk(deskId="billing")
    await harness.take()
    await harness.hand_on("support")
    served = Served(harness)
    [item] = (await served.get("/desk", "desk:answer", user="ben")).json()["items"]
    assert (item["deskId"], item["userName"], item["locale"]) == ("support", "Ada Lovelace", "de-AT")


async def test_without_an_id_it_is_the_first_desk() -> None:
    harness, _ = await ask_for_desk()
    assert (await harness.thread()).active_agent_id == "support"


async def test_an_unknown_desk_is_refused_at_once() -> None:
    harness, socket = await ask_for_desk(deskId="nowhere")
    [refused] = [event for event in socket.take_events() if event["type"] == "RUN_ERROR"]
    assert (refused["code"], refused["message"]) == ("unknown_agent", "deskId must be one of: support, billing.")
    assert (await harness.thread()).conversation.desk is None


async def test_an_agent_without_desks_hands_over_to_none() -> None:
    socket = Socketed(HandoffHarness())
    await socket.send("desk")
    [refused] = [event for event in socket.take_events() if event["type"] == "RUN_ERROR"]
    assert (refused["code"], refused["message"]) == ("unknown_agent", "This agent hands over to no desk.")


async def test_people_and_strangers_get_nothing_over_a_websocket() -> None:
    """People of a desk work over HTTP: a connection would follow a conversation that has left them."""
    harness = DeskHarness()
    await harness.ask()
    await harness.take()
    socket = Socketed(harness)
    fields = {
        "message": {"messageId": "m9", "content": "Hi"},
        "resume": {"after": 0},
        "cancel": {"runId": "r-1"},
        "answer": {"interruptId": f"{'0' * 32}.1", "status": "resolved", "payload": {"approved": True}},
        "continue": {"workflowId": "6b1f0c7e-1111-4222-8333-444455556666"},
    }
    refusals = {"thread_unavailable", "workflow_unavailable", "unknown_interrupt"}
    for user in ("anna", "eve"):
        for action in set(ACTIONS) - {"ping"}:
            scope = harness.make_person_scope(user_id=user) if user == "anna" else replace(harness.ada, user_id=user)
            await socket.send(action, scope=scope, tab=user, **fields.get(action, {}))
            await socket.run_queue()
            codes = {event.get("code") for event in socket.take_events(user)}
            assert codes & refusals, (action, codes)
    await harness.say("m10", "Is anybody there?", subscriber=harness.subscriber("tab"))
    assert socket.take_events("anna") == []
