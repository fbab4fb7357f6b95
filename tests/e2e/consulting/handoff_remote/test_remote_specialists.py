"""A conversation is handed over to an agent in another process, and comes back, whatever becomes of that agent."""

from __future__ import annotations

import pytest

from tests.e2e.ag_ui_rules import check_run, text_of
from tests.e2e.consulting.conftest import Specialists
from tests.e2e.consulting.stored_consultations import of_type
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import Json, User
from tests.fault_model import Behaviour, FaultModel, answers, calls_tools

pytestmark = pytest.mark.nightly


def transfers(target: str) -> Behaviour:
    """The main agent's model hands over."""
    return calls_tools((f"transfer_to_{target}", {"reason": "it knows", "context_summary": "Ada wants a table."}))


def speakers(run: list[Json]) -> list[str]:
    """The speakers, in order."""
    return [event["name"] for event in of_type(run, "TEXT_MESSAGE_START")]


def notices(run: list[Json]) -> list[tuple[str, str]]:
    """The handoffs and returns that were shown, and to whom."""
    return [(event["activityType"], event["content"]["to"]) for event in of_type(run, "ACTIVITY_SNAPSHOT")]


async def active(user: User, thread_id: str) -> str:
    """The active agent."""
    name: str = (await user.read(f"/threads/{thread_id}"))["state"]["activeAgent"]["id"]
    return name


async def test_messages_are_relayed_within_one_remote_task(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    model.script(answers("Hello there."), transfers("echo"))
    await socket.say("Hi", thread_id=thread_id, agentId="host")
    first = await socket.say("ask For when?", thread_id=thread_id)
    second = await socket.say("ask For how many?", thread_id=thread_id)
    third = await socket.say("recall", thread_id=thread_id)

    assert notices(first) == [("handoff", "echo")]
    assert [text_of(run) for run in (first, second)] == ["For when?", "For how many?"]
    assert text_of(third) == "ask For when?; ask For how many?; recall"
    assert {name for run in (first, second, third) for name in speakers(run)} == {"Echo"}
    assert len(model.requests) == 2
    assert await active(alice, thread_id) == "echo"
    stored = [(message["role"], message["content"]) for message in await alice.messages(thread_id)]
    assert ("assistant", "For how many?") in stored


async def test_its_stream_comes_straight_through(socket: SocketClient, model: FaultModel) -> None:
    thread_id = new_id()
    model.script(transfers("echo"))
    run = await socket.say("drip One two three four five six", thread_id=thread_id, agentId="host")
    deltas = [event["delta"] for event in of_type(run, "TEXT_MESSAGE_CONTENT")]
    assert "".join(deltas) == "One two three four five six "
    assert len(deltas) > 1
    assert deltas[0] == "One "


async def test_the_remote_agent_hands_back_and_its_report_is_known(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    model.script(transfers("echo"), answers("At eight."))
    await socket.say("ask For when?", thread_id=thread_id, agentId="host")
    run = await socket.say("return status Booked.", thread_id=thread_id)
    after = await alice.ask("When is it?", sessionId=thread_id)

    assert notices(run) == [("return", "host")]
    assert speakers(run) == ["Echo", "Echo", "Host"]
    assert text_of(run).startswith("Booked.")
    assert await active(alice, thread_id) == "host"
    assert after["messages"][-1]["content"] == "At eight."
    [reported] = model.requests[-1].context
    assert "Echo has handed the conversation back" in reported
    assert "A table at eight." in reported


async def test_an_exit_word_leaves_it_and_is_not_relayed(socket: SocketClient, alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    model.script(transfers("echo"), answers("I am here."))
    await socket.say("ask For when?", thread_id=thread_id, agentId="host")
    run = await socket.say("Cancel!", thread_id=thread_id)
    assert notices(run) == [("return", "host")]
    assert speakers(run) == ["Echo", "Host"]
    assert text_of(await socket.say("Hello?", thread_id=thread_id)) == "I am here."
    assert await active(alice, thread_id) == "host"


async def test_the_same_over_http(alice: User, model: FaultModel) -> None:
    model.script(transfers("echo"))
    first = await alice.ask("ask For when?", agentId="host")
    second = await alice.ask("recall", sessionId=first["sessionId"])
    assert [item["messages"][-1]["content"] for item in (first, second)] == ["For when?", "ask For when?; recall"]


async def test_a_cancel_stops_it(
    socket: SocketClient, alice: User, model: FaultModel, specialists: Specialists
) -> None:
    thread_id = new_id()
    model.script(transfers("slow"))
    await socket.send("message", threadId=thread_id, messageId=new_id(), content="hang Well...", agentId="host")
    await socket.receive_until("TEXT_MESSAGE_CONTENT")
    await specialists.slow.says("working")
    await socket.send("cancel", threadId=thread_id)
    run = await socket.receive_until_end()
    assert run[-1]["outcome"] == {"type": "cancelled"}
    await specialists.slow.says("cancelled")
    assert text_of(await socket.say("ask Yes?", thread_id=thread_id)) == "Yes?"


async def test_an_agent_that_is_killed_in_its_answer_is_reported_and_can_be_left(
    socket: SocketClient, alice: User, model: FaultModel, specialists: Specialists
) -> None:
    thread_id = new_id()
    model.script(transfers("doomed"))
    await socket.say("ask For when?", thread_id=thread_id, agentId="host")
    await socket.send("message", threadId=thread_id, messageId=new_id(), content="hang Half an")
    run = await socket.receive_until("TEXT_MESSAGE_CONTENT")
    await specialists.doomed.says("working")
    specialists.doomed.kill()
    run += await socket.receive_until_end()
    run = [event for event in run if event.get("name") != "message_accepted"]
    check_run(run)
    assert (run[-1]["type"], run[-1]["code"]) == ("RUN_ERROR", "agent_unavailable")
    assert text_of(run) == "Half an"

    again = await socket.say("ask Are you there?", thread_id=thread_id)
    assert (again[-1]["type"], again[-1]["code"]) == ("RUN_ERROR", "agent_unavailable")
    assert await active(alice, thread_id) == "doomed"
    remaining = await socket.say("exit", thread_id=thread_id)
    assert notices(remaining) == [("return", "host")]
    assert await active(alice, thread_id) == "host"


async def test_an_agent_that_is_down_leaves_the_main_agent_in_charge(
    socket: SocketClient, alice: User, model: FaultModel, specialists: Specialists
) -> None:
    specialists.dead.kill()
    thread_id = new_id()
    model.script(transfers("dead"))
    run = await socket.say("ask For when?", thread_id=thread_id, agentId="host")
    assert run[-1]["outcome"] == {"type": "success"}
    assert "is currently unavailable. Would you like me to help you with something else" in text_of(run)
    assert notices(run) == [("handoff", "dead"), ("return", "host")]
    assert await active(alice, thread_id) == "host"
