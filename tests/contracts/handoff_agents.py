"""Agents that hand over to each other, and other definitions of them that may come at any time."""

from __future__ import annotations

from typing import Any

from baton.domain.agents.agent import AgentDefinition

NAME = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "colour": {"type": "string"}},
    "additionalProperties": False,
}
COLOURFUL = {**NAME, "required": ["name", "colour"]}


def _agent(agent_id: str, **fields: Any) -> AgentDefinition:
    about = {
        "id": agent_id,
        "name": agent_id.title(),
        "description": "Does it.",
        "system_prompt": f"Be the {agent_id}.",
    }
    return AgentDefinition.model_validate({**about, **fields})


def _states(*names: str, collects: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the states of a workflow, whose first state collects fields and whose last state ends it."""
    first, *others, last = names
    return [
        {"name": first, "label": first.title(), "collects": collects or NAME},
        *({"name": name, "label": name.title()} for name in others),
        {"name": last, "label": last.title(), "final": True},
    ]


def _maker(**fields: Any) -> AgentDefinition:
    states = fields.pop("states", _states("ASK", "BUILD", "DONE"))
    workflow = {"name": "making", "title": "your {name}", "untitled": "your thing", "states": states}
    words = {"exit_words": {"en": ["cancel"]}, "triggers": ["make a thing"], "workflow": workflow}
    return _agent("maker", **{**words, **fields})


ASSISTANT = _agent(
    "assistant",
    main=True,
    ends_conversations=True,
    handoffs=["maker", {"agent": "helper", "context_mode": "recent"}, "baker", {"agent": "locked"}],
)
MAKER = _maker()
HELPER = _agent("helper", triggers=["help desk"], exit_words={"en": ["cancel"]}, handoffs=["maker"])
BAKER = _agent(
    "baker",
    triggers=["bake bread"],
    exit_words={"en": ["cancel"]},
    ends_conversations=True,
    workflow={"name": "baking", "on_exit": "discard", "states": _states("MIX", "BAKE")},
)
LOCKED = _agent("locked", triggers=["open sesame"], required_permissions=["cave:enter"])
AGENTS = (ASSISTANT, MAKER, HELPER, BAKER, LOCKED)

MAKERS: dict[str, AgentDefinition | None] = {
    "as before": MAKER,
    "asks for more": _maker(states=_states("ASK", "BUILD", "DONE", collects=COLOURFUL)),
    "builds no more": _maker(states=_states("ASK", "PAINT", "DONE")),
    "in more steps": _maker(states=_states("ASK", "BUILD", "PAINT", "DONE")),
    "needs a permission": _maker(required_permissions=["things:make"]),
    "without a workflow": _maker(workflow=None),
    "gone": None,
}
"""A deployment's change of the maker's agent."""
TRIGGERS = ["make a thing", "help desk", "bake bread", "open sesame"]
