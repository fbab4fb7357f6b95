"""Agent cards: one JSON object that is valid by A2A 0.3 and by A2A 1.0.

The fields of both lines stand side by side. Where they share a name, an object has the fields of both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton import __version__
from baton.api.a2a.access import A2AAccess
from baton.domain.agents.agent import AgentDefinition
from baton.domain.handoffs.triggers import is_phrase
from baton.domain.threads.a2a_task import EXTENSION_URI

OLDER_VERSION = "0.3.0"
CURRENT_VERSION = "1.0"
TRANSPORT = "JSONRPC"
REST = "HTTP+JSON"
INPUT_MODES = (
    "text/plain",
    "text/*",
    "application/json",
    "image/*",
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.*",
    "application/octet-stream",
)
JSON = "application/json"
OUTPUT_MODES = ("text/plain", JSON)
MAX_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class CardedAgent:
    """An agent, and the agents that it works with, as far as the reader of its card may know them."""

    agent: AgentDefinition
    specialists: Sequence[AgentDefinition] = ()
    """The agents that it hands conversations over to."""
    consulted: Sequence[AgentDefinition] = ()


def agent_card(carded: CardedAgent, url: str, access: A2AAccess) -> dict[str, Any]:
    """Return the card of an agent that answers at ``url``."""
    agent = carded.agent
    features = _features(carded)
    interfaces = [
        {"url": address, "protocolBinding": binding, "protocolVersion": version}
        for binding, version, address in (
            (TRANSPORT, CURRENT_VERSION, url),
            (TRANSPORT, OLDER_VERSION, url),
            (REST, CURRENT_VERSION, f"{url}/v1"),
        )
    ]
    extension = {
        "uri": EXTENSION_URI,
        "description": "Conversations with handoffs, workflows and approvals.",
        "required": False,
        "params": features,
    }
    flags = ("multi_turn", "hitl_support", "handoff_support", "stateful_workflows")
    card: dict[str, Any] = {
        "name": agent.name,
        "description": agent.description,
        "version": __version__,
        "url": url,
        "preferredTransport": TRANSPORT,
        "protocolVersion": OLDER_VERSION,
        "additionalInterfaces": [{"url": url, "transport": TRANSPORT}],
        "supportedInterfaces": interfaces,
        "capabilities": {
            "streaming": True,
            "pushNotifications": access.pushes(),
            "stateTransitionHistory": False,
            "extendedAgentCard": True,
            "extensions": [extension],
            **{name: features[name] for name in flags},
        },
        "supportsAuthenticatedExtendedCard": True,
        "defaultInputModes": list(INPUT_MODES),
        "defaultOutputModes": list(OUTPUT_MODES),
        "skills": _skills(carded),
        "handoff_triggers": features["handoff_triggers"],
        "workflow_states": features["workflow_states"],
        **_security(access),
    }
    if agent.avatar_url is not None:
        card["iconUrl"] = str(agent.avatar_url)
    return card


def card_bytes(card: Mapping[str, Any]) -> bytes:
    """Return a card as it is served: the same bytes for the same card."""
    return json.dumps(card, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def entity_tag(body: bytes) -> str:
    """Return the ``ETag`` of a served card."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _features(carded: CardedAgent) -> dict[str, Any]:
    """Return the agent's entry in Baton's extension."""
    agent = carded.agent
    return {
        "multi_turn": True,
        "hitl_support": True,
        "handoff_support": bool(agent.handoffs or agent.triggers or not agent.main),
        "stateful_workflows": agent.workflow is not None
        or any(specialist.workflow for specialist in carded.specialists),
        "handoff_triggers": [trigger for trigger in agent.triggers if is_phrase(trigger)],
        "workflow_states": agent.workflow.card_states if agent.workflow is not None else [],
    }


def _skills(carded: CardedAgent) -> list[dict[str, Any]]:
    return [
        _skill(carded.agent, "conversation"),
        *(_skill(specialist, "handoff") for specialist in carded.specialists),
        *(_skill(definition, "consulted") for definition in carded.consulted),
    ]


def _skill(agent: AgentDefinition, tag: str) -> dict[str, Any]:
    tags = [tag, *(["workflow"] if agent.workflow is not None else [])]
    skill: dict[str, Any] = {"id": agent.id, "name": agent.name, "description": agent.description, "tags": tags}
    examples = [trigger for trigger in agent.triggers if is_phrase(trigger)][:MAX_EXAMPLES]
    if examples:
        skill["examples"] = examples
    if agent.answer_schema is not None:
        skill["outputModes"] = [JSON]
    return skill


def _security(access: A2AAccess) -> dict[str, Any]:
    """Return the schemes that are enforced: a bearer token, which an OpenID Connect issuer may have signed."""
    if access.is_open:
        return {}
    http = {"scheme": "bearer", "bearerFormat": "JWT"}
    schemes: dict[str, Any] = {"bearer": {"type": "http", **http, "httpAuthSecurityScheme": http}}
    for number, issuer in enumerate(access.issuers()):
        address = {"openIdConnectUrl": f"{issuer.rstrip('/')}/.well-known/openid-configuration"}
        name = "oidc" if number == 0 else f"oidc{number + 1}"
        schemes[name] = {"type": "openIdConnect", **address, "openIdConnectSecurityScheme": address}
    return {
        "securitySchemes": schemes,
        "security": [{name: []} for name in schemes],
        "securityRequirements": [{"schemes": {name: {"list": []}}} for name in schemes],
    }
