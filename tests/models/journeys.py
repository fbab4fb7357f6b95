"""A conversation of twenty turns with everything in it, against the endpoint of one family of models."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.ports.agents.chat_model import ChatModel
from tests.harness.handoffs import MAKER
from tests.harness.harness import ASSISTANT, Harness, Turn
from tests.harness.remembered import learn

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CSV = {
    "type": "document",
    "source": {"type": "data", "value": "YTtiCjE7Mgo=", "mimeType": "application/vnd.ms-excel"},
    "metadata": {"name": "data.csv"},
}
PIXEL = {
    "type": "image",
    "source": {
        "type": "data",
        "value": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "mimeType": "image/png",
    },
    "metadata": {"name": "dot.png"},
}
KNOWLEDGE = AgentDefinition(
    id="knowledge", name="Knowledge", description="Knows the documents.", system_prompt="Quote exactly."
)


def assistant(**model: Any) -> AgentDefinition:
    """The main agent: it recalls, calls tools, asks another agent and hands over."""
    return AgentDefinition.model_validate(
        ASSISTANT.model_dump()
        | {
            "model": {"temperature": 0.3, "max_output_tokens": 600, **model},
            "tools": [{"type": "python", "name": "weather", "description": "Tells it.", "entry_point": "weather:tell"}],
            "sub_agents": ["knowledge"],
            "handoffs": [{"agent": "maker"}],
            "memory": {"relevance_floor": 0.0},
        }
    )


@dataclass(frozen=True, slots=True)
class Step:
    """The user's message, and the texts that the answer must hold."""

    says: Any
    holds: str = ""
    fails: bool = False
    """True if the endpoint is down meanwhile."""


ABOUT = "ask knowledge about bolts"
STEPS = (
    Step("hello"),
    Step('use the tool weather with {"city": "Oslo"}', "Sunny in Oslo"),
    Step("find B17", "B17"),
    Step("think and say 12 words", "w11"),
    Step('think and use the tool weather with {"city": "Rome"} 3 times', "Sunny in Rome"),
    Step(ABOUT, "The tools say"),
    Step([{"type": "text", "text": "What is in the file?"}, CSV], "a;b"),
    Step([{"type": "text", "text": "And in the picture?"}, PIXEL], "picture"),
    Step("hello again", "hello again"),
    Step("is anybody there", fails=True),
    Step("hello once more", "hello once more"),
    Step("use weather and weather in parallel", "Sunny in"),
    Step("filter this", fails=True),
    Step("what now", "what now"),
    Step("use the tool weather with malformed arguments", "Error"),
    Step("say 300 words", "w200"),
    Step("hand me over to maker"),
    Step('use the tool advance_workflow with {"state": "BUILD", "data": {"name": "kite"}}'),
    Step("hand me back"),
    Step("goodbye", "goodbye"),
)


class Journey:
    """The conversation, turn by turn."""

    def __init__(self, model: ChatModel, name: str, *, specialist: str | None = None, **settings: Any) -> None:
        """``name`` is the model of all agents, but for the ``specialist``'s if that is given."""
        self.harness = Harness(
            model=model,  # type: ignore[arg-type]
            assistant=assistant(name=name, **settings),
            others=(
                KNOWLEDGE.model_copy(update={"model": KNOWLEDGE.model.model_copy(update={"name": name})}),
                MAKER.model_copy(update={"model": MAKER.model.model_copy(update={"name": specialist or name})}),
            ),
            recalls=True,
        )

        async def weather(city: str) -> str:
            return f"Sunny in {city}."

        self.harness.tools.add("weather", weather, parameters=CITY)
        self._turns = 0

    async def learn(self) -> None:
        """Put a document where the assistant finds it."""
        await learn(self.harness, self.harness.ada, "assistant", "Bolt B17 takes 9 Nm, as the handbook says.")

    async def say(self, content: Any) -> Turn:
        """Say something, and return what comes back."""
        self._turns += 1
        return await self.harness.say(f"m{self._turns}", content)

    def problem(self, step: Step, turn: Turn) -> str | None:
        """Return what is wrong with an answer; None if nothing is."""
        if step.fails:
            return None if turn.last["type"] == "RUN_ERROR" else f"{step.says}: did not fail"
        if turn.last["type"] != "RUN_FINISHED":
            return f"{step.says}: {json.dumps(turn.last)[:300]}"
        return None if step.holds in turn.text else f"{step.says}: {turn.text[:300]!r}"
