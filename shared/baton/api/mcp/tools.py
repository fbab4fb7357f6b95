"""Agents as MCP tools: names, descriptions and schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as types

from baton.domain.agents.agent import AgentDefinition
from baton.domain.schemas.schema_form import walk_subschemas

PAGE = 100
"""The number of tools in a page of ``tools/list``."""

INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "What to say to the agent. Required unless `answer` is given."},
        "thread_id": {
            "type": "string",
            "description": "The conversation to continue: `thread_id` of an earlier result. Leave it out to begin one.",
        },
        "answer": {
            "type": "object",
            "description": (
                "The user's answer to what a result with the state `input_required` asks. Give `thread_id` with it, "
                "and no `message`. Ask the user; do not decide for them."
            ),
            "properties": {
                "interrupt_id": {
                    "type": "string",
                    "description": "Which question it answers. Without it, the answer is to all open questions.",
                },
                "approved": {"type": "boolean", "description": "Whether the user permits what was asked."},
                "comment": {"type": "string", "description": "The user's comment, for the agent."},
            },
        },
    },
    "additionalProperties": False,
}
OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "thread_id": {
            "type": "string",
            "description": "The conversation. Give it with the next message. A call that failed may have none.",
        },
        "message": {"type": "string", "description": "What the agent said, or why the call failed."},
        "state": {
            "type": "string",
            "enum": ["completed", "input_required", "cancelled", "delivered", "failed"],
            "description": "`input_required`: the agent waits for an `answer` to `questions`. `delivered`: people "
            "answer later, in the conversation.",
        },
        "code": {"type": "string", "description": "The kind of the failure."},
        "retryable": {"type": "boolean", "description": "Whether the same call may succeed later."},
        "retry_after": {"type": "number", "description": "The seconds to wait before it."},
        "questions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "interrupt_id": {"type": "string"},
                    "message": {"type": "string"},
                    "tool": {"type": "string"},
                    "arguments": {"type": "string", "description": "What the tool would be called with, as JSON."},
                    "schema": {"type": "object", "description": "The JSON Schema of the answer."},
                    "expires_at": {"type": "string"},
                },
                "required": ["interrupt_id", "message"],
            },
        },
        "sources": {
            "type": "array",
            "items": {"type": "object"},
            "description": "What the answer is based on: `{kind, id, title, url?}`. A passage that the text cites as "
            "`[2]` has the `number` 2.",
        },
        "consulted": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Documents that were read for the answer and that it does not cite.",
        },
    },
    "required": ["message", "state"],
}
"""The schema of all results. Errors fit it too, because official clients would raise instead of showing their text."""


def to_tool(agent: AgentDefinition, agents: Sequence[AgentDefinition]) -> types.Tool:
    """Return the agent as a tool. ``agents`` are the agents that the caller may talk to."""
    return types.Tool(
        name=agent.id,
        title=agent.name,
        description=agent.description,
        input_schema=INPUT_SCHEMA,
        output_schema=make_output_schema(agent),
        annotations=make_annotations(agent, {definition.id: definition for definition in agents}),
    )


def make_output_schema(agent: AgentDefinition) -> dict[str, Any]:
    """Return the schema of an agent's results. If its answers have a schema, that schema describes ``result``."""
    if agent.answer_schema is None:
        return OUTPUT_SCHEMA
    answer = dict(agent.answer_schema)
    definitions = answer.pop("$defs", None)
    answer.pop("$schema", None)
    is_recursive = any(part.get("$ref") == "#" for part in walk_subschemas(agent.answer_schema))
    if agent.handoffs or is_recursive:
        # A specialist's answers have another schema, and "#" would refer to the schema of the whole result.
        answer, definitions = {"type": "object"}, None
    described = {**OUTPUT_SCHEMA, "properties": {**OUTPUT_SCHEMA["properties"], "result": answer}}
    return described if definitions is None else {**described, "$defs": definitions}


def make_annotations(agent: AgentDefinition, agents: dict[str, AgentDefinition]) -> types.ToolAnnotations:
    """Return the annotations, which are the same for all calls of the agent.

    A call is neither read-only nor idempotent, because it writes to a conversation and a repeated message is another
    turn. The effects of tools are unknown. So a call may be destructive and have external effects if the agent, or an
    agent that it asks or hands over to, has a tool or is remote.
    """
    reached, remaining = {agent.id: agent}, [agent]
    while remaining:
        definition = remaining.pop()
        for other in (*definition.sub_agents, *(handoff.agent for handoff in definition.handoffs)):
            if other in agents and other not in reached:
                reached[other] = agents[other]
                remaining.append(agents[other])
    acts = any(definition.tools or definition.remote is not None for definition in reached.values())
    return types.ToolAnnotations(
        title=agent.name, read_only_hint=False, destructive_hint=acts, idempotent_hint=False, open_world_hint=acts
    )
