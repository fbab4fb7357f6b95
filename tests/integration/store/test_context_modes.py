"""Later turns find the context that a handoff grants, in every store."""

from __future__ import annotations

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.threads.requests.parsing import parse_message_request
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents
from tests.contracts.conversing import Worker
from tests.contracts.handoff_agents import AGENTS, ASSISTANT
from tests.contracts.stores import Stores, new_thread_id
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.harness import TODAY

TRANSFER = ToolCall("c", "transfer_to_helper", '{"reason": "r", "context_summary": "Ada counts."}')


@pytest.mark.parametrize(
    ("mode", "granted"),
    [("summary", []), ("recent", ["eins", "two", "zwei"]), ("full", ["one", "eins", "two", "zwei"])],
)
async def test_later_turns_are_given_what_the_handoff_granted(stores: Stores, mode: str, granted: list[str]) -> None:
    handoff = {"agent": "helper", "context_mode": mode, "recent_messages": 3}
    assistant = AgentDefinition.model_validate({**ASSISTANT.model_dump(), "handoffs": [handoff]})
    model = ScriptedChatModel()
    model.script("eins", "zwei", Answer.calling(TRANSFER), "How can I help?", "I see.")
    turns = Worker(stores, FakeShippedAgents(assistant, *AGENTS[1:]), model, None).turns
    thread_id = new_thread_id()
    for text in ("one", "two", "Please help", "Like this"):
        request = parse_message_request(stores.ada, thread_id=thread_id, message_id=text, content=text)
        await turns.run(stores.ada, request, lambda event: None, seconds=20)

    reported = [str(content) for _, content in model.requests[-1].contents]
    assert reported[0].startswith("Be the helper.")
    assert ("Ada counts." in reported[1]) is (mode == "summary")
    assert reported[-4 - len(granted) :] == [*granted, "Please help", "How can I help?", TODAY[1], "Like this"]
