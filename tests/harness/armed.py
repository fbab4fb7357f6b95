"""An assistant with a tool."""

from __future__ import annotations

import json
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from tests.harness.harness import ASSISTANT

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def arm_assistant(**limits: Any) -> AgentDefinition:
    """Return the assistant with tools; the fake offers the same tools to each agent that has any."""
    fields = {"type": "python", "name": "weather", "description": "Tells it.", "entry_point": "weather:tell"}
    return AgentDefinition.model_validate(
        ASSISTANT.model_dump() | {"tools": [fields], "limits": limits, "timeouts": {"turn_seconds": 60}}
    )


def call(name: str = "weather", number: int = 1, **arguments: Any) -> ToolCall:
    return ToolCall(f"call-{number}", name, json.dumps(arguments))
