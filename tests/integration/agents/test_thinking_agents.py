"""The thinking of a remote agent is no part of its answer, however its framework sends it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from baton.adapters.a2a import RemoteAgents
from baton.ports.agents.chat_model import TextDelta, TextTakenBack
from tests.contracts.agent_client import a_task
from tests.integration.agents import rogue_agent as rogue
from tests.integration.agents.conftest import define_agent
from tests.integration.agents.rogue_agent import Behaviour, Json, RogueAgent
from tests.integration.agents.serving import served

DONE = rogue.status("completed")


def with_parts(update: Json, *parts: Json) -> Json:
    """An update with other parts."""
    holder = update["artifact"] if "artifact" in update else update["status"]["message"]
    holder["parts"] = list(parts)
    return update


def part(text: str, **metadata: object) -> Json:
    return {"kind": "text", "text": text, **({"metadata": metadata} if metadata else {})}


DATA = {"kind": "data", "data": {"plan": "SECRET"}, "metadata": {"adk_thought": True}}
THOUGHT = (part("SECRET plan.", adk_thought=True), part("Sunny."))
ANSWERS = {
    "an artifact": rogue.events(with_parts(rogue.chunk(""), *THOUGHT), DONE),
    "a thought by itself": rogue.events(with_parts(rogue.chunk(""), THOUGHT[0]), rogue.chunk("Sunny."), DONE),
    "another name": rogue.events(with_parts(rogue.chunk(""), part("SECRET", thought=True), part("Sunny.")), DONE),
    "no thought": rogue.events(with_parts(rogue.chunk(""), part("Sunny.", adk_thought=False)), DONE),
    "data": rogue.events(with_parts(rogue.chunk(""), DATA, part("Sunny.")), DONE),
    "a status": rogue.events(with_parts(rogue.status("completed", "x"), *THOUGHT)),
    "progress alone": rogue.events(with_parts(rogue.status("working", "x"), *THOUGHT), DONE),
    "tags": rogue.events(rogue.chunk("<thi"), rogue.chunk("nk>SECRET</th"), rogue.chunk("ink>\n\nSunny."), DONE),
    "gpt-oss": rogue.events(
        rogue.chunk("<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant"),
        rogue.chunk("<|channel|>final<|message|>Sunny."),
        DONE,
    ),
    "a closing tag alone": rogue.events(rogue.chunk("SECRET plan.\n"), rogue.chunk("</think>\n\nSunny."), DONE),
    "an answer that came whole": rogue.result(rogue.task("completed", "<think>SECRET</think>Sunny.")),
}


@pytest.fixture
def behaving(request: pytest.FixtureRequest) -> Iterator[str]:
    behaviour: Behaviour = ANSWERS[request.param]
    with served(RogueAgent(behaviour, streams=request.param != "an answer that came whole").app) as url:
        yield url


@pytest.mark.parametrize("behaving", ANSWERS, indirect=True)
async def test_thinking_is_left_out(client: RemoteAgents, behaving: str) -> None:
    text = ""
    chunks = [chunk async for chunk in client.stream(define_agent(behaving), a_task("Will it rain?"))]
    for chunk in chunks:
        text = "" if isinstance(chunk, TextTakenBack) else text + (chunk.text if isinstance(chunk, TextDelta) else "")
    assert text == "Sunny."
    visible = [chunk for chunk in chunks if not isinstance(chunk, TextDelta | TextTakenBack)]
    assert "SECRET" not in str(visible)
