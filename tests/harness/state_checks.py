"""Short ways to say what a model calls, to deploy other agents, and to see which agent is active."""

from __future__ import annotations

import json
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role, StoredMessage
from tests.harness.handoffs import HandoffHarness
from tests.harness.harness import Harness


def call(name: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(call_id, name, json.dumps(arguments))


def to(target: str, call_id: str = "c1") -> ToolCall:
    return call(f"transfer_to_{target}", call_id, reason="it knows", context_summary="Ada asks.")


def with_fields(agent: AgentDefinition, **fields: Any) -> AgentDefinition:
    return AgentDefinition.model_validate({**agent.model_dump(exclude_unset=True), **fields})


def define(harness: HandoffHarness, agent: AgentDefinition) -> None:
    """Deploy another definition of the agent."""
    harness.shipped_agents.definitions[agent.id] = agent


async def messages(harness: Harness) -> list[StoredMessage]:
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    return list((await harness.store.read_messages(harness.ada, thread, limit=100, before=None)).messages)


async def results(harness: Harness) -> list[str]:
    """The results of calls that models have read."""
    return [message.text for message in await messages(harness) if message.role is Role.TOOL]


async def active(harness: HandoffHarness) -> str:
    """The agent that is active."""
    agent_id: str = (await harness.state())["activeAgent"]["id"]
    return agent_id


async def check_handoffs(harness: HandoffHarness) -> None:
    """A handoff lasts exactly as long as the thread names it."""
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    stored, _ = await harness.handoffs.of_thread(harness.ada, harness.thread_id, limit=50, cursor=None)
    lasting = [request.place for request in stored if request.outcome is None]
    assert lasting == ([thread.conversation.handoff] if thread.conversation.handoff is not None else [])
