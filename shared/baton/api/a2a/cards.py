"""Agent cards and their addresses. A card is one JSON object that is valid for A2A 0.3 and for A2A 1.0.

It has the fields of both versions. Where both versions have a field of the same name, its object has the fields of
both. A card shows only what its reader may know; a reader without a token gets the public card.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from aws_lambda_powertools import Logger
from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPAuthorizationCredentials

from baton import __version__
from baton.api.a2a.access import A2AAccess, find_base_url
from baton.api.http.dependencies import AgentId, Caller, UseCases, bearer, verify_caller
from baton.api.http.problems import json_content, responses
from baton.composition.app import App
from baton.domain import errors
from baton.domain.agents.agent import AgentDefinition
from baton.domain.handoffs.triggers import is_phrase
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.tenants.registry.registered_agents import RegisteredAgents

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
"""The most example phrases of a skill in a card."""


@dataclass(frozen=True, slots=True)
class CardSubject:
    """The agent of a card, and the agents with which it works, as far as the card's reader may know them."""

    agent: AgentDefinition
    specialists: Sequence[AgentDefinition] = ()
    """The agents to which it hands conversations over."""
    consulted: Sequence[AgentDefinition] = ()
    """The agents that it consults."""


def make_card(subject: CardSubject, url: str, access: A2AAccess) -> dict[str, Any]:
    """Return the unsigned card of an agent that answers at ``url``."""
    agent = subject.agent
    features = _make_features(subject)
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
        "skills": [
            _make_skill(agent, "conversation"),
            *(_make_skill(specialist, "handoff") for specialist in subject.specialists),
            *(_make_skill(definition, "consulted") for definition in subject.consulted),
        ],
        "handoff_triggers": features["handoff_triggers"],
        "workflow_states": features["workflow_states"],
        **_make_security(access),
    }
    if agent.avatar_url is not None:
        card["iconUrl"] = str(agent.avatar_url)
    return card


def encode_card(card: Mapping[str, Any]) -> bytes:
    """Return a card as JSON for a response. The same card always has the same bytes."""
    return json.dumps(card, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def make_entity_tag(body: bytes) -> str:
    """Return the strong ``ETag`` of a response with this body."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _make_features(subject: CardSubject) -> dict[str, Any]:
    """Return the agent's features, which are the parameters of Baton's extension."""
    agent = subject.agent
    return {
        "multi_turn": True,
        "hitl_support": True,
        "handoff_support": bool(agent.handoffs or agent.triggers or not agent.main),
        "stateful_workflows": agent.workflow is not None
        or any(specialist.workflow for specialist in subject.specialists),
        "handoff_triggers": [trigger for trigger in agent.triggers if is_phrase(trigger)],
        "workflow_states": agent.workflow.card_states if agent.workflow is not None else [],
    }


def _make_skill(agent: AgentDefinition, tag: str) -> dict[str, Any]:
    tags = [tag, *(["workflow"] if agent.workflow is not None else [])]
    skill: dict[str, Any] = {"id": agent.id, "name": agent.name, "description": agent.description, "tags": tags}
    examples = [trigger for trigger in agent.triggers if is_phrase(trigger)][:MAX_EXAMPLES]
    if examples:
        skill["examples"] = examples
    if agent.answer_schema is not None:
        skill["outputModes"] = [JSON]
    return skill


def _make_security(access: A2AAccess) -> dict[str, Any]:
    """Return the security schemes: a bearer token, which one of the OpenID Connect issuers may have signed.

    Return no schemes if calls without a token are accepted.
    """
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


NOBODY = Scope("public", "anonymous")
"""The scope, without permissions, of readers without a token."""
KEYS = "/.well-known/agent-card-keys.json"
MAX_KEYS_AGE = 300
"""Seconds for which receivers may cache the keys of push notifications."""
MAX_AGE = 600
"""Seconds for which clients may cache a card and the keys of cards."""
KEY_SET: dict[int | str, dict[str, Any]] = {200: {"description": "A JWK set (RFC 7517).", **json_content({"keys": []})}}

logger = Logger(child=True)
router = APIRouter(tags=["a2a"])


def read_optional_scope(
    request: Request, app: UseCases, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Scope | None:
    """Return the scope of the token; None without an ``Authorization`` header.

    Raises ``Unauthorized`` and ``TokenExpired``.
    """
    return verify_caller(request, app, credentials) if "authorization" in request.headers else None


Reader = Annotated[Scope | None, Depends(read_optional_scope)]
IfNoneMatch = Annotated[str | None, Header(alias="If-None-Match", description="The card that the client has.")]
CARD = {"name": "Assistant", "protocolVersion": "0.3.0", "url": "https://api.example.com/a2a"}
ANSWERS = {200: {"description": "The card.", **json_content(CARD)}, **responses("unauthorized token_expired not_found")}
PUBLIC: dict[str, Any] = {"responses": ANSWERS, "openapi_extra": {"security": [{}]}}
"""The OpenAPI fields of routes that need no token, and show more with a token."""


@router.get("/.well-known/agent-card.json", summary="Read the default agent's card", **PUBLIC)
@router.get("/.well-known/agent.json", summary="Read the card at its older address", **PUBLIC)
@router.get("/a2a", summary="Read the default agent's card where it is called", **PUBLIC)
async def read_default_card(
    request: Request, app: UseCases, reader: Reader, if_none_match: IfNoneMatch = None
) -> Response:
    """Return the card of the agent at `/a2a`, valid for A2A 0.3 and 1.0. It has an `ETag`.

    The same card is served at `/.well-known/agent.json`, for clients of A2A before 0.3, and at `/a2a` itself, for
    clients that know only the `url` of a card.
    """
    return await _serve_card(request, app, reader, None, if_none_match)


@router.get("/a2a/{agent_id}/.well-known/agent-card.json", summary="Read an agent's card", **PUBLIC)
@router.get("/a2a/{agent_id}", summary="Read an agent's card where it is called", **PUBLIC)
async def read_agent_card(
    request: Request, app: UseCases, reader: Reader, agent_id: AgentId, if_none_match: IfNoneMatch = None
) -> Response:
    """Return the card of the agent at `/a2a/{agent_id}`."""
    return await _serve_card(request, app, reader, agent_id, if_none_match)


@router.get("/agent/authenticatedExtendedCard", summary="Read the extended card", responses=ANSWERS)
async def read_extended_card(
    request: Request, app: UseCases, scope: Caller, if_none_match: IfNoneMatch = None
) -> Response:
    """Return the default agent's card for the caller, at the address that clients of A2A before 0.3 use.

    A token is required, even where other calls without a token are accepted.
    """
    return await _serve_card(request, app, scope, None, if_none_match)


@router.get(
    KEYS,
    summary="Read the keys of cards",
    responses={**KEY_SET, **responses("not_found internal_error store_unavailable")},
)
async def read_card_keys(app: UseCases) -> Response:
    """Return the public keys with which clients verify the signatures of cards. It needs no token."""
    if app.ports.card_signer is None:
        raise errors.NotFound
    keys = await app.ports.card_signer.read_public_keys()
    return JSONResponse(keys, headers={"Cache-Control": f"public, max-age={MAX_AGE}"})


@router.get(
    "/.well-known/jwks.json",
    summary="Read the keys of signatures",
    responses={**KEY_SET, **responses("not_found store_unavailable")},
)
async def read_signing_keys(request: Request, app: UseCases) -> Response:
    """Return the public keys with which receivers verify push notifications. It needs no token."""
    if not request.app.state.a2a.pushes():
        raise errors.NotFound
    keys = await app.ports.signing_key.read_public_keys()
    return JSONResponse(keys, headers={"Cache-Control": f"public, max-age={MAX_KEYS_AGE}"})


def find_card_subject(agents: RegisteredAgents, scope: Scope, agent_id: str | None) -> CardSubject:
    """Return the subject of an agent's card; the default agent's for None.

    Raises ``UnknownAgent`` for a remote agent, and unless conversations of ``scope`` can begin with the agent or be
    handed over to it.
    """
    agent = agents.get(scope, agent_id) if agent_id is not None else agents.for_new_thread(scope, None)
    visible = {definition.id: definition for definition in agents.list_visible(scope)}
    is_target = any(handoff.agent == agent.id for definition in visible.values() for handoff in definition.handoffs)
    if agent.remote is not None or not (agent.main or is_target):
        raise errors.UnknownAgent
    specialists = [visible[handoff.agent] for handoff in agent.handoffs if handoff.agent in visible]
    return CardSubject(agent, specialists, agents.list_sub_agents(scope, agent))


def make_card_for(
    agents: RegisteredAgents, scope: Scope, agent: AgentDefinition | None, base: str, access: A2AAccess
) -> dict[str, Any]:
    """Return the unsigned card of an agent, or of the default agent, for ``scope``. Raises ``UnknownAgent``.

    ``base`` is the deployment's address, without a slash at its end.
    """
    url = f"{base}/a2a" if agent is None else f"{base}/a2a/{agent.id}"
    return make_card(find_card_subject(agents, scope, agent.id if agent is not None else None), url, access)


async def _serve_card(
    request: Request, app: App, reader: Scope | None, agent_id: str | None, known_tags: str | None
) -> Response:
    scope, access = reader or NOBODY, request.app.state.a2a
    base, is_trusted = find_base_url(request, access)
    try:
        # Without a token there is no tenant, so only shipped agents have a public card.
        agents = (
            await app.agents.in_force(scope) if reader is not None else RegisteredAgents(app.ports.shipped_agents, {})
        )
        agent = agents.get(scope, agent_id) if agent_id is not None else None
        card = make_card_for(agents, scope, agent, base, access)
    except errors.UnknownAgent:
        raise errors.NotFound from None
    body, tag = await _encode_signed(card, app, base if is_trusted else None)
    visibility = "private" if reader is not None else "public"
    headers = {"ETag": tag, "Cache-Control": f"{visibility}, max-age={MAX_AGE}", "Vary": "Authorization"}
    if known_tags is not None and _is_known(tag, known_tags):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _is_known(tag: str, known_tags: str) -> bool:
    """Return whether ``If-None-Match`` names the tag, by the weak comparison, or is ``*`` (RFC 9110, 13.1.2)."""
    names = {name.strip().removeprefix("W/") for name in known_tags.split(",")}
    return "*" in names or tag.removeprefix("W/") in names


async def sign(card: dict[str, Any], app: App, base: str) -> dict[str, Any]:
    """Return the card with its signatures; unchanged without keys for it, or if they cannot be read.

    ``base`` is the deployment's address, which must be trusted.
    """
    signer = app.ports.card_signer
    if signer is None:
        return card
    try:
        return {**card, "signatures": await signer.sign_card(card, f"{base}{KEYS}")}
    except errors.BatonError as error:
        # The card is served unsigned. Clients that require a signature refuse it.
        logger.error("Agent cards cannot be signed", reason=error.detail)
        count(Metric.KEYS_UNREADABLE)
        return card


async def _encode_signed(card: dict[str, Any], app: App, base: str | None) -> tuple[bytes, str]:
    """Return the bytes of the card, signed if possible, and its ``ETag``.

    Signatures differ every time. So the tag of a signed card is weak, and is derived from the unsigned card and the
    key. ``base`` is the deployment's trusted address; None if the address is not trusted, so that nothing is signed.
    """
    body = encode_card(card)
    signed = await sign(card, app, base) if base is not None else card
    signer = app.ports.card_signer
    if signed is card or signer is None:
        return body, make_entity_tag(body)
    return encode_card(signed), f"W/{make_entity_tag(body + (await signer.find_key_id()).encode())}"
