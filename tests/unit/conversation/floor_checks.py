"""Short ways to say what a model calls, to deploy other agents, and to see who has the floor."""

from __future__ import annotations

import json
from typing import Any

from baton.domain.agent import AgentDefinition
from baton.domain.message import Role, StoredMessage
from baton.domain.tool_call import ToolCall
from tests.unit.conversation.handing_over import HandoffStage
from tests.unit.conversation.stage import Stage


def call(name: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(call_id, name, json.dumps(arguments))


def to(target: str, call_id: str = "c1") -> ToolCall:
    return call(f"transfer_to_{target}", call_id, reason="it knows", context_summary="Ada asks.")


def changed(agent: AgentDefinition, **fields: Any) -> AgentDefinition:
    return AgentDefinition.model_validate({**agent.model_dump(by_alias=True, exclude_unset=True), **fields})


def define(stage: HandoffStage, agent: AgentDefinition) -> None:
    """Deploy another definition of the agent."""
    stage.catalog.definitions[agent.id] = agent


async def messages(stage: Stage) -> list[StoredMessage]:
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    return list((await stage.store.read_messages(stage.ada, thread, limit=100, before=None)).messages)


async def results(stage: Stage) -> list[str]:
    """What models were told of their calls."""
    return [message.text for message in await messages(stage) if message.role is Role.TOOL]


async def active(stage: HandoffStage) -> str:
    """The agent that has the floor."""
    agent_id: str = (await stage.state())["activeAgent"]["id"]
    return agent_id


async def check_handoffs(stage: HandoffStage) -> None:
    """A handoff lasts exactly as long as the thread names it."""
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    kept, _ = await stage.handoffs.of_thread(stage.ada, stage.thread_id, limit=50, cursor=None)
    lasting = [request.place for request in kept if request.outcome is None]
    assert lasting == ([thread.floor.handoff] if thread.floor.handoff is not None else [])
