"""Baton to Baton: an agent elsewhere is consulted and handed over to, and asks for an approval in between."""

from __future__ import annotations

import pytest

from tests.e2e.ag_ui_rules import check_run, text_of
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers, calls_tools

pytestmark = pytest.mark.nightly

COUNT = calls_tools(("next_number", {}), text="Let me count.")


async def test_a_consulted_partner_asks_for_an_approval_which_the_user_gives_as_data(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    # In the order in which the models are asked: ours, the partner's, ours.
    model.script(calls_tools(("ask_partner", {"message": "Count."})), COUNT, answers("May it count?"))
    request = await socket.say("Let it count", thread_id=thread_id, agentId="host")
    assert text_of(request) == "May it count?"
    [reported] = model.requests[2].tool_results.values()
    assert "May I use next_number?" in reported
    assert '"interrupts"' in reported

    yes = {"message": "They agree.", "data": {"approved": True}}
    model.script(calls_tools(("ask_partner", yes)), answers("It is one."), answers("It has counted."))
    answered = await socket.say("Yes", thread_id=thread_id)
    check_run([event for event in answered if event.get("name") != "message_accepted"])
    assert text_of(answered) == "It has counted."
    assert "It is one." in "".join(model.requests[5].tool_results.values())
    tasks = (await alice.read(f"/threads/{thread_id}/tasks"))["items"]
    assert [(task["agentId"], task["status"]) for task in tasks] == [("partner", "completed")] * 2


async def test_a_partner_takes_the_conversation_over_and_asks_the_user_for_an_approval(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    handed = ("transfer_to_partner", {"reason": "it counts", "context_summary": "Ada wants a number."})
    model.script(calls_tools(handed), COUNT)
    request = await socket.say("Let it count", thread_id=thread_id, agentId="host")
    assert "May I use next_number?" in text_of(request)
    assert "interrupts" not in text_of(request)

    model.script(answers("It is two."))
    answered = await socket.say("yes", thread_id=thread_id)
    assert "It is two." in text_of(answered)
    assert (await alice.read(f"/threads/{thread_id}"))["state"]["activeAgent"]["id"] == "partner"
