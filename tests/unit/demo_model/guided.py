"""A session between a user and the demo model as a guided workflow's specialist, told what Baton tells a model."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from baton.adapters.agent_files import AgentFiles
from baton.agents.builtin_tools import RETURN_TO_MAIN
from baton.agents.workflow_notes import workflow_note
from baton.domain.agent import AgentDefinition
from baton.domain.identity import Scope
from baton.domain.tool_call import ADVANCE, RETURN
from baton.domain.workflow import Workflow, WorkflowStatus
from baton.domain.workflow_moves import IllegalTransition, advance, begin
from baton.handoffs.skill_making import review_skill
from baton.memory.context import SHORTENED_CHARS, SHORTENED_NOTE
from baton.memory.handoff_context import HANDED_OVER
from local.demo_model.conversation import Conversation
from local.demo_model.reply import Call
from local.demo_model.rules import answer
from local.demo_model.wire import CalledFunction, CalledTool, ChatMessage, OfferedFunction
from local.settings import ROOT

NOW = datetime(2026, 3, 14, tzinfo=UTC)
MAX_CALLS = 9
"""Model calls before the last one of a turn, as agents may make by default."""


class Guided:
    """Plays Baton's part by Baton's own functions."""

    def __init__(self, agent: AgentDefinition, summary: str = "", workflow: Workflow | None = None) -> None:
        assert agent.workflow is not None
        self.agent, self.summary, self.definition = agent, summary, agent.workflow
        self.workflow = workflow or begin(self.definition, id="w", agent_id=agent.id, thread_id="t", now=NOW)
        self.messages: list[ChatMessage] = []
        self.calls: list[Call] = []
        """All that were made, of the last turn."""
        self.report: dict[str, Any] | None = None
        """With what it handed back."""
        self.has_room = True
        """Whether results reach it whole: beside a very long message they are shortened."""

    @property
    def state(self) -> str:
        return self.workflow.state

    @property
    def known(self) -> dict[str, Any]:
        """Everything collected, by field."""
        return {name: value for fields in self.workflow.data.values() for name, value in fields.items()}

    def say(self, text: str) -> str:
        """What it says to the user's message, all its calls carried out."""
        self.messages.append(ChatMessage(role="user", content=text))
        self.calls = []
        note = workflow_note(self.definition, self.workflow)
        told = HANDED_OVER.format(source="assistant", summary=json.dumps(self.summary))
        head = [ChatMessage(role="system", content=content) for content in (self.agent.system_prompt, told, note)]
        for number in range(MAX_CALLS):
            reply = answer(Conversation.of([*head, *self.messages], self._tools))
            calls = [
                CalledTool(
                    id=f"c{len(self.messages)}-{number}-{place}",
                    type="function",
                    function=CalledFunction(name=call.name, arguments=json.dumps(call.arguments)),
                )
                for place, call in enumerate(reply.calls)
            ]
            self.messages.append(ChatMessage(role="assistant", content=reply.text, tool_calls=calls or None))
            if not calls:
                return reply.text
            self.calls += reply.calls
            for called, call in zip(calls, reply.calls, strict=True):
                result = self._carry_out(call)
                if not self.has_room and len(result) > SHORTENED_CHARS:
                    result = f"{result[:SHORTENED_CHARS]}\n{SHORTENED_NOTE}"
                self.messages.append(ChatMessage(role="tool", tool_call_id=called.id, content=result))
            if self.report is not None:
                return reply.text
        raise AssertionError(f"it calls and calls: {self.calls}")

    def _carry_out(self, call: Call) -> str:
        if call.name == RETURN:
            self.report = call.arguments
            return "You are back."
        assert call.name == ADVANCE
        try:
            moved = advance(
                self.definition, self.workflow, call.arguments["state"], call.arguments.get("data", {}), NOW
            )
            scope = Scope("t", "ada", frozenset({"skill:create"}))
            about = review_skill(moved, scope, lambda text: None) if self.definition.produces == "skill" else ""
        except IllegalTransition as illegal:
            return f"Error: {illegal}"
        self.workflow = moved
        return "\n".join(part for part in (about, workflow_note(self.definition, moved)) if part)

    @property
    def _tools(self) -> dict[str, OfferedFunction]:
        states = [state.name for state in self.definition.states]
        parameters = {"type": "object", "properties": {"state": {"type": "string", "enum": states}}}
        tools = {
            RETURN: OfferedFunction(name=RETURN, parameters=RETURN_TO_MAIN.parameters),
            ADVANCE: OfferedFunction(name=ADVANCE, parameters=parameters),
        }
        if self.workflow.status is WorkflowStatus.COMPLETED:
            del tools[ADVANCE]
        return tools


def skill_creation() -> AgentDefinition:
    """The specialist that ships."""
    found = AgentFiles.load(ROOT / "agents").get("skill-creation-agent")
    assert found is not None
    return found
