"""A harness with a specialist: conversations that are handed over, on fakes and with scripted models."""

from __future__ import annotations

import json
from typing import Any

from baton.api.threads.record_schemas import Handoff
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread_state import describe_thread_state
from baton.threads.requests.parsing import make_continue_request, make_exit_request
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.harness import ASSISTANT, Harness, Turn

MAKER = AgentDefinition.model_validate(
    {
        "id": "maker",
        "name": "Maker",
        "description": "Makes things step by step.",
        "system_prompt": "Make it.",
        "triggers": ["make a thing"],
        "exit_words": {"en": ["cancel", "exit"], "de": ["abbrechen"]},
        "sentences": {
            "en": {
                "busy": "You're currently in a making session. Would you like to finish that first?",
                "saved_for_later": "Let me know if you'd like to continue making it later.",
                "completed": "Your thing is ready! Returning you to the main assistant.",
                "main_confirms": "Great, your '{name}' is made.",
                "welcome_back": "Welcome back! Would you like to continue making {workflow}?",
            },
            "de": {"exit": "Kein Problem!", "saved_for_later": "Sag Bescheid."},
        },
        "workflow": {
            "name": "making",
            "title": "your {name}",
            "untitled": "your new thing",
            "states": [
                {
                    "name": "ASK",
                    "label": "Asking",
                    "collects": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}},
                        "additionalProperties": False,
                    },
                },
                {"name": "BUILD", "label": "Building"},
                {"name": "DONE", "label": "Done", "final": True},
            ],
        },
    }
)
HELPER = AgentDefinition.model_validate(
    {"id": "helper", "name": "Helper", "description": "Helps.", "system_prompt": "Help.", "triggers": ["help desk"]}
)
LOCKED = AgentDefinition.model_validate(
    {
        "id": "locked",
        "name": "Locked",
        "description": "Is not for everybody.",
        "system_prompt": "Hush.",
        "triggers": ["open sesame"],
        "required_permissions": ["cave:enter"],
        "sentences": {
            "en": {"forbidden": "You don't have permission to enter the cave. Can I help with something else?"}
        },
    }
)


class HandoffHarness(Harness):
    """A harness whose assistant hands over."""

    def __init__(self, *answers: Answer, maker: AgentDefinition = MAKER, **handoff: Any) -> None:
        handoffs = [{"agent": "maker", **handoff}, {"agent": "helper", **handoff}, {"agent": "locked"}]
        assistant = AgentDefinition.model_validate({**ASSISTANT.model_dump(), "handoffs": handoffs})
        model = ScriptedChatModel(otherwise=Answer(("What shall it be called?",)))
        model.script(*answers)
        super().__init__(model=model, assistant=assistant, others=(maker, HELPER, LOCKED))

    async def act(self, request: Any, scope: Scope | None = None) -> Turn:
        """Carry out an action of ada's."""
        turn = Turn([], None)
        turn.finished = await self.turns.run(scope or self.ada, request, turn.events.append, seconds=20)
        return turn

    async def hand_over(self, by: str, *answers: Answer, message_id: str = "m1") -> Turn:
        """The conversation goes to the maker by a ``trigger`` or a ``transfer``; the maker answers with ``answers``."""
        if by == "trigger":
            self.model.script("Ada wants a thing.", *answers)
            return await self.say(message_id, "Please make me a thing")
        self.model.script(transfer(), *answers)
        return await self.say(message_id)

    async def exit(self, key: str = "once") -> Turn:
        return await self.act(make_exit_request(self.thread_id, key=key))

    async def continue_(self, workflow_id: str, key: str = "once") -> Turn:
        return await self.act(make_continue_request(self.thread_id, workflow_id, key=key))

    async def state(self) -> dict[str, Any]:
        """The thread's state as its screens show it."""
        thread = await self.store.get_thread(self.ada, self.thread_id)
        return describe_thread_state((await self.agents.in_session(self.ada, thread)).describe, thread).wire()

    async def list_handoffs(self) -> list[dict[str, Any]]:
        """The thread's handoffs, the newest first."""
        stored, _ = await self.handoffs.of_thread(self.ada, self.thread_id, limit=50, cursor=None)
        return [Handoff.of(request).wire() for request in stored]


def transfer(target: str = "maker", **arguments: Any) -> Answer:
    """Return the answer with which the main agent hands over."""
    return calling(
        f"transfer_to_{target}", **{"reason": "it makes", "context_summary": "Ada wants a thing.", **arguments}
    )


def calling(name: str, **arguments: Any) -> Answer:
    """Return an answer that calls a tool."""
    return Answer.calling(ToolCall("c1", name, json.dumps(arguments)))


def advance(state: str, **data: Any) -> Answer:
    """Return the answer with which the specialist advances the workflow."""
    return calling("advance_workflow", state=state, data=data)


def texts(turn: Turn) -> list[tuple[str, str]]:
    """Return the speakers with their texts, in order."""
    names: dict[str, str] = {}
    reported: dict[str, str] = {}
    for event in turn.events:
        if event.type == "TEXT_MESSAGE_START":
            names[event.body["messageId"]] = event.body["name"]
        elif event.type == "TEXT_MESSAGE_CONTENT":
            reported[event.body["messageId"]] = reported.get(event.body["messageId"], "") + event.body["delta"]
    return [(names[message_id], text) for message_id, text in reported.items()]
