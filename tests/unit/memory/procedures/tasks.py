"""A task that a user completes with tools, and what the light model says about it."""

from __future__ import annotations

import json
from typing import Any

from baton.domain.agents.tool import PythonTool
from baton.domain.memory.capture import Capture, CaptureRef, CaptureStep
from baton.domain.runs.tool_call import ToolCall
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness, Turn

CUSTOMER = "Miller Ltd"
CHANNEL = "#ops-alerts"
DRAFT: dict[str, Any] = {
    "name": "Report an outage",
    "description": "Opens a ticket for a customer's outage and tells the team.",
    "triggers": ["report an outage", "customer has an outage"],
    "steps": [
        {"text": "Look up the customer {customer} with crm_find.", "condition": None},
        {"text": "Open a ticket with ticket_create.", "condition": "skip if there is an open one"},
        {"text": "Post the ticket to {channel} with slack_post.", "condition": None},
    ],
    "allowed_tools": ["crm_find", "ticket_create", "slack_post"],
}
IS_TASK = json.dumps({"task": True, "name": "Report an outage"})
NO_TASK = json.dumps({"task": False, "name": ""})
ASKED = f"Please report an outage of {CUSTOMER} to {CHANNEL}."


def make_draft_answer(**changes: Any) -> str:
    """The light model's draft."""
    return json.dumps({**DRAFT, **changes})


def call(name: str, number: int = 0, **arguments: Any) -> ToolCall:
    return ToolCall(f"c-{name}-{number}", name, json.dumps(arguments))


CALLS = (
    call("crm_find", customer=CUSTOMER),
    call("ticket_create", customer=CUSTOMER, subject="Outage of the portal"),
    call("slack_post", channel=CHANNEL, text="Ticket TICKET-4711 is open."),
)


OPERATOR = ASSISTANT.model_copy(
    update={
        "tools": (
            PythonTool(type="python", name="crm_find", description="Finds a customer.", entry_point="tools:find"),
        )
    }
)
"""An agent that declares tools: those of ``equip``."""


def equip(harness: Harness, *, result: str = "Done: TICKET-4711.") -> Harness:
    """Give the agents of a harness the tools of the task."""

    async def done(**arguments: Any) -> str:
        return result

    for name in ("crm_find", "ticket_create", "slack_post"):
        harness.tools.add(name, done)
    return harness


async def complete_task(
    harness: Harness,
    message_id: str = "m1",
    *,
    message: str = ASKED,
    calls: tuple[ToolCall, ...] = CALLS,
    answer: str = "I have reported it.",
) -> Turn:
    """Let a user complete the task in one run."""
    harness.model.script(*(Answer.calling(call) for call in calls), answer)
    return await harness.say(message_id, message)


async def capture(harness: Harness, *steps: CaptureStep) -> Capture | None:
    """Run the steps of the last capture that was started, by default all of them, as the state machine does."""
    scope, ref, _ = harness.captures.started[-1]
    result: Capture | None = None
    for step in steps or CaptureStep:
        result = await harness.app.procedures.capture.run(step, scope, ref)
        if result is None or result.is_settled:
            break
    return result


def list_started(harness: Harness) -> list[CaptureRef]:
    """The captures that were started."""
    return [ref for _, ref, _ in harness.captures.started]


async def list_pending(harness: Harness) -> list[str]:
    """Return the ids and versions of the procedures that wait for approval."""
    from baton.domain.memory.procedure import ProcedureStatus

    page_items, _ = await harness.procedures.of_agents(
        harness.ada, ["assistant"], [ProcedureStatus.PENDING], limit=50, cursor=None
    )
    return [f"{item.id}@{item.version}" for item in page_items]
