"""A harness whose assistant hands over to a remote agent."""

from __future__ import annotations

from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.threads.message import StoredMessage
from baton.ports.agents.agent_client import AgentTask
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.handoffs import HandoffHarness, transfer
from tests.harness.harness import ASSISTANT, Harness


def booker(**more: Any) -> AgentDefinition:
    """A specialist that runs elsewhere."""
    return AgentDefinition.model_validate(
        {
            "id": "booker",
            "name": "Booker",
            "description": "Books tables.",
            "remote": {"card_url": "https://agents.example.com"},
            **more,
        }
    )


class RelayHarness(HandoffHarness):
    """A harness whose assistant hands over to an agent that runs elsewhere."""

    def __init__(self, *answers: Answer, agent: AgentDefinition | None = None, **handoff: Any) -> None:
        assistant = AgentDefinition.model_validate(
            {**ASSISTANT.model_dump(), "handoffs": [{"agent": "booker", **handoff}]}
        )
        model = ScriptedChatModel(otherwise=Answer(("What else?",)))
        model.script(*(answers or (transfer("booker", context_summary="Ada wants a table."),)))
        Harness.__init__(self, model=model, assistant=assistant, others=(agent or booker(),))

    @property
    def sent(self) -> list[AgentTask]:
        """The requests to the agent."""
        return [task for _, task in self.agent_client.requests]

    async def messages(self) -> list[StoredMessage]:
        """The messages of the thread."""
        thread = await self.store.get_thread(self.ada, self.thread_id)
        return list((await self.store.read_messages(self.ada, thread, limit=50, before=None)).messages)

    async def active(self) -> str:
        """The active agent."""
        name: str = (await self.state())["activeAgent"]["id"]
        return name

    async def outcomes(self) -> list[str | None]:
        """The ends of the thread's handoffs, the newest first."""
        return [stored["outcome"] for stored in await self.list_handoffs()]
