"""The agents of a run that get the tools and the context of the user's page."""

from __future__ import annotations

import json

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import MAKER, HandoffHarness, transfer
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.page import PAGE, list_offered, paint, prompt_text, result
from tests.harness.sockets import Socketed
from tests.harness.wiki import answer, call_results

EXPERT = AgentDefinition(id="expert", name="Expert", description="Knows.", system_prompt="Be exact.")


async def test_an_agent_that_is_consulted_gets_neither() -> None:
    asking = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"sub_agents": ["expert"]})
    harness = Harness(assistant=asking, others=(EXPERT,))
    ask = ToolCall("call-ask", "ask_expert", json.dumps({"message": "Which red?"}))
    harness.model.script(Answer.calling(ask, paint()), "Crimson.")
    turn = await harness.say(client=PAGE)
    assert turn.last["outcome"]["type"] == "interrupt"
    assert list_offered(harness, 1) == []
    assert "Cart" not in str(harness.model.requests[1].contents)
    harness.model.script("Crimson it is.")
    (interrupt,) = turn.last["outcome"]["interrupts"]
    assert (await answer(harness, result(interrupt))).text == "Crimson it is."
    assert call_results(harness) == ["Crimson.", "It is red now."]


@pytest.mark.parametrize("takes", [True, False])
async def test_a_specialist_gets_client_tools_if_its_definition_allows_them(takes: bool) -> None:
    maker = AgentDefinition.model_validate(MAKER.model_dump() | {"client_tools": takes, "client_context": takes})
    harness = HandoffHarness(transfer(), Answer(("Name?",)), maker=maker)
    await harness.say(client=PAGE)
    assert "paint" in list_offered(harness, 0)
    assert ("paint" in list_offered(harness, 1)) == takes
    assert ("Cart" in str(harness.model.requests[1].contents)) == takes


async def test_a_specialist_waits_for_the_page_and_goes_on() -> None:
    harness = HandoffHarness(transfer(), Answer.calling(paint()), Answer(("Painted.",)))
    turn = await harness.say(client=PAGE)
    (interrupt,) = turn.last["outcome"]["interrupts"]
    turn = await answer(harness, result(interrupt))
    assert (turn.text, prompt_text(turn)) == ("Painted.", [("It is red now.", "succeeded")])
    assert "paint" in list_offered(harness)


async def test_a_specialist_in_a_fork_gets_no_tools_because_a_fork_cannot_wait() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)), context_mode="forked")
    await harness.say(client=PAGE)
    assert "paint" not in list_offered(harness, 1)


async def test_the_inspector_shows_the_context_beside_the_message() -> None:
    harness = Harness()
    await harness.say(client=PAGE)
    record = await harness.context()
    blocks = {block["kind"]: [item["text"] for item in block["items"]] for block in record["blocks"]}
    assert [("Cart with 3 items" in text) for text in blocks["current"]] == [True, False]
    assert "Cart" not in str(blocks["system"])
    assert record["calls"][0]["tools"][-2:] == ["choose", "paint"]


async def test_a_message_over_the_queue_offers_the_same() -> None:
    harness = Harness()
    socket = Socketed(harness)
    harness.model.script(Answer.calling(paint()), "It is red.")
    tools = [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in PAGE.tools]
    await socket.send("message", messageId="m1", content="Make it red.", tools=tools)
    await socket.run_queue()
    (interrupt,) = socket.take_events()[-1]["outcome"]["interrupts"]
    answered = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"done": True}}
    await socket.send("answer", **answered)
    await socket.run_queue()
    assert call_results(harness) == ['{"done": true}']
    assert list_offered(harness)[-2:] == ["choose", "paint"]
