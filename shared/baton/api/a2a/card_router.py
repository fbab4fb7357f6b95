"""The addresses of agent cards. A card shows what its reader may know; without a token, what everybody may."""

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools import Logger
from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPAuthorizationCredentials

from baton.api.a2a.access import A2AAccess, base_url, trusted_base_url
from baton.api.a2a.cards import CardedAgent, agent_card, card_bytes, entity_tag
from baton.api.http.dependencies import AgentId, Caller, UseCases, bearer, caller
from baton.api.http.problems import responses
from baton.composition.app import App
from baton.domain import errors
from baton.domain.agents.agent import AgentDefinition
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.tenants.registry.registered_agents import RegisteredAgents

NOBODY = Scope("public", "anonymous")
"""The reader of a card without a token: a scope without permissions."""
KEYS = "/.well-known/agent-card-keys.json"
MAX_KEYS_AGE = 300
"""Seconds for which receivers may keep keys."""
MAX_AGE = 600
"""Seconds for which clients may keep a card."""
KEY_SET: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A JWK set (RFC 7517).",
        "content": {"application/json": {"schema": {"type": "object"}, "example": {"keys": []}}},
    }
}

logger = Logger(child=True)
router = APIRouter(tags=["a2a"])


def card_reader(
    request: Request, app: UseCases, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Scope | None:
    """Return the scope of the token, if there is one. Raises ``Unauthorized`` and ``TokenExpired``."""
    return caller(request, app, credentials) if "authorization" in request.headers else None


Reader = Annotated[Scope | None, Depends(card_reader)]
IfNoneMatch = Annotated[str | None, Header(alias="If-None-Match", description="The card that the client has.")]
ANSWERS = {
    200: {
        "description": "The card.",
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "example": {"name": "Assistant", "protocolVersion": "0.3.0", "url": "https://api.example.com/a2a"},
            }
        },
    },
    **responses("unauthorized token_expired not_found"),
}
PUBLIC: dict[str, Any] = {"responses": ANSWERS, "openapi_extra": {"security": [{}]}}
"""Of routes that need no token, and show more with one."""


@router.get("/.well-known/agent-card.json", summary="Read the default agent's card", **PUBLIC)
@router.get("/.well-known/agent.json", summary="Read the card at its older address", **PUBLIC)
@router.get("/a2a", summary="Read the default agent's card where it is called", **PUBLIC)
async def default_card(request: Request, app: UseCases, reader: Reader, if_none_match: IfNoneMatch = None) -> Response:
    """Return the card of the agent at `/a2a`, valid by A2A 0.3 and 1.0. It has an `ETag`.

    It is the same at `/.well-known/agent.json`, for clients of A2A before 0.3, and at `/a2a` itself, for clients that
    know the `url` of a card only.
    """
    return await _serve(request, app, reader, None, if_none_match)


@router.get("/a2a/{agent_id}/.well-known/agent-card.json", summary="Read an agent's card", **PUBLIC)
@router.get("/a2a/{agent_id}", summary="Read an agent's card where it is called", **PUBLIC)
async def agents_card(
    request: Request, app: UseCases, reader: Reader, agent_id: AgentId, if_none_match: IfNoneMatch = None
) -> Response:
    """Return the card of the agent at `/a2a/{agent_id}`."""
    return await _serve(request, app, reader, agent_id, if_none_match)


@router.get("/agent/authenticatedExtendedCard", summary="Read the extended card", responses=ANSWERS)
async def extended_card(request: Request, app: UseCases, scope: Caller, if_none_match: IfNoneMatch = None) -> Response:
    """Return the default agent's card as the caller may see it, where clients of A2A before 0.3 ask for it.

    Calls without a token are refused, also where other calls without one are accepted.
    """
    return await _serve(request, app, scope, None, if_none_match)


@router.get(
    KEYS,
    summary="Read the keys of cards",
    responses={**KEY_SET, **responses("not_found internal_error store_unavailable")},
)
async def card_keys(app: UseCases) -> Response:
    """Return the public keys with which the signatures of cards are checked. It needs no token."""
    if app.ports.card_signer is None:
        raise errors.NotFound
    keys = await app.ports.card_signer.public_keys()
    return JSONResponse(keys, headers={"Cache-Control": f"public, max-age={MAX_AGE}"})


@router.get(
    "/.well-known/jwks.json",
    summary="Read the keys of signatures",
    responses={**KEY_SET, **responses("not_found store_unavailable")},
)
async def signing_keys(request: Request, app: UseCases) -> Response:
    """Return the public keys with which receivers check push notifications. It needs no token."""
    if not request.app.state.a2a.pushes():
        raise errors.NotFound
    keys = await app.ports.signing_key.public_keys()
    return JSONResponse(keys, headers={"Cache-Control": f"public, max-age={MAX_KEYS_AGE}"})


def find_carded(agents: RegisteredAgents, scope: Scope, agent_id: str | None) -> CardedAgent:
    """Return an agent that conversations can begin with or be handed over to. Raises ``UnknownAgent``."""
    agent = agents.get(scope, agent_id) if agent_id is not None else agents.for_new_thread(scope, None)
    visible = {definition.id: definition for definition in agents.visible(scope)}
    is_target = any(handoff.agent == agent.id for definition in visible.values() for handoff in definition.handoffs)
    if agent.remote is not None or not (agent.main or is_target):
        raise errors.UnknownAgent
    specialists = [visible[handoff.agent] for handoff in agent.handoffs if handoff.agent in visible]
    return CardedAgent(agent, specialists, agents.sub_agents(scope, agent))


def card_of(agents: RegisteredAgents, scope: Scope, agent: AgentDefinition | None, base: str, access: A2AAccess) -> Any:
    """Return the card of an agent, or of the default one, as ``scope`` may see it. Raises ``UnknownAgent``."""
    url = f"{base}/a2a" if agent is None else f"{base}/a2a/{agent.id}"
    return agent_card(find_carded(agents, scope, agent.id if agent is not None else None), url, access)


async def _serve(
    request: Request, app: App, reader: Scope | None, agent_id: str | None, known_tags: str | None
) -> Response:
    scope, access = reader or NOBODY, request.app.state.a2a
    try:
        # Without a token there is no tenant: only agents that ship have a public card.
        agents = await app.agents.of(scope) if reader is not None else RegisteredAgents(app.ports.shipped_agents, {})
        agent = agents.get(scope, agent_id) if agent_id is not None else None
        card = card_of(agents, scope, agent, base_url(request, access), access)
    except errors.UnknownAgent:
        raise errors.NotFound from None
    body, tag = await _with_signatures(card, app, trusted_base_url(request, access))
    whose = "private" if reader is not None else "public"
    headers = {"ETag": tag, "Cache-Control": f"{whose}, max-age={MAX_AGE}", "Vary": "Authorization"}
    if known_tags is not None and tag.removeprefix("W/") in [
        part.strip().removeprefix("W/") for part in known_tags.split(",")
    ]:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


async def sign(card: dict[str, Any], app: App, base: str) -> dict[str, Any]:
    """Return the card with its signatures, if the deployment has keys. ``base`` is an address that it vouches for."""
    signer = app.ports.card_signer
    if signer is None:
        return card
    try:
        return {**card, "signatures": await signer.signatures(card, f"{base}{KEYS}")}
    except errors.BatonError as error:
        # Clients that demand a signature refuse the card, and the others are served.
        logger.error("Agent cards cannot be signed", reason=error.detail)
        count(Metric.KEYS_UNREADABLE)
        return card


async def _with_signatures(card: dict[str, Any], app: App, base: str | None) -> tuple[bytes, str]:
    """Return the card as it is served, signed where it can be, and its ``ETag``.

    Signatures differ each time, so the tag of a signed card is that of what is signed, by which key: a weak one.
    """
    body = card_bytes(card)
    signed = await sign(card, app, base) if base is not None else card
    signer = app.ports.card_signer
    if signed is card or signer is None:
        return body, entity_tag(body)
    return card_bytes(signed), f"W/{entity_tag(body + (await signer.key_id()).encode())}"
