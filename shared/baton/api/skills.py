"""Skills that callers may use, and private ones: offer, withdraw, share and decline them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from baton.api.authentication import Caller
from baton.api.problems import responses
from baton.api.procedure_schemas import Declination, Offer, Procedure, Sharing
from baton.api.procedures import PROCEDURE, Agent, ProcedureId, answered, reason_line
from baton.api.schemas import Listing
from baton.api.services import Services
from baton.api.threads import Cursor, Limit
from baton.domain.cursors import decode, encode
from baton.domain.errors import (
    Forbidden,
    InvalidRequest,
    MalformedJson,
    ProcedureChanged,
    ProcedureNameTaken,
    TokenExpired,
    TooManyProcedures,
    Unauthorized,
    UnknownAgent,
    UnknownProcedure,
)
from baton.domain.private_skill import SkillAction
from baton.domain.procedure import ProcedureScope

router = APIRouter(tags=["procedures"])

_OFFERING = responses(
    MalformedJson, Unauthorized, TokenExpired, UnknownAgent, UnknownProcedure, ProcedureChanged, InvalidRequest
)


@router.get("/skills", summary="List skills", responses=responses(Unauthorized, TokenExpired, InvalidRequest))
async def list_skills(
    scope: Caller,
    services: Services,
    of: Annotated[ProcedureScope | None, Query(alias="scope", description="Only skills of this scope.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[Procedure]:
    """Return the skills that the caller may use.

    These are the approved procedures of all agents that the caller may talk to, by agent, then those of all agents, and
    last the caller's own private skills (`scope: "user"`).
    """
    start = _position(cursor)
    agents = (await services.agents.of(scope)).visible(scope)
    found = [] if of is ProcedureScope.USER else await services.procedures.usable(scope, agents)
    if of in (None, ProcedureScope.USER):
        found += await services.skills.own(scope, agents)
    found = [each for each in found if of in (None, each.scope)]
    after = encode({"from": start + limit}) if len(found) > start + limit else None
    items = [Procedure.shown(each) for each in found[start : start + limit]]
    return Listing[Procedure](items=items, next_cursor=after)


@router.post(f"{PROCEDURE}/offer", summary="Offer a private skill", responses=_OFFERING)
async def offer_skill(
    agent: Agent,
    procedure_id: ProcedureId,
    scope: Caller,
    services: Services,
    response: Response,
    asked: Offer | None = None,
) -> Procedure:
    """Ask that the caller's own private skill is shared: holders of `procedure:approve` can read it from then on."""
    version = asked.version if asked is not None else None
    changed = await services.skills.change_offer(scope, agent.id, procedure_id, SkillAction.OFFER, version=version)
    return answered(response, changed)


@router.delete(f"{PROCEDURE}/offer", summary="Withdraw an offer", responses=_OFFERING)
async def withdraw_offer(
    agent: Agent, procedure_id: ProcedureId, scope: Caller, services: Services, response: Response
) -> Procedure:
    """Take back the offer of the caller's own skill, which nobody has shared yet."""
    changed = await services.skills.change_offer(scope, agent.id, procedure_id, SkillAction.WITHDRAW, version=None)
    return answered(response, changed)


@router.post(
    f"{PROCEDURE}/share",
    summary="Share a private skill",
    responses=responses(
        MalformedJson,
        Unauthorized,
        TokenExpired,
        Forbidden,
        UnknownAgent,
        UnknownProcedure,
        ProcedureChanged,
        ProcedureNameTaken,
        TooManyProcedures,
        InvalidRequest,
    ),
)
async def share_skill(
    agent: Agent, procedure_id: ProcedureId, scope: Caller, services: Services, response: Response, asked: Sharing
) -> Procedure:
    """Make an offered skill, or the caller's own, an approved procedure of the agent, for all its users.

    If a procedure of its name is approved, `replaces` must name that version: 409 `procedure_name_taken` otherwise.
    Repeated by the same user: the same answer. Needs `procedure:approve`.
    """
    shared = await services.skills.share(
        scope, agent.id, procedure_id, user_id=asked.user_id, version=asked.version, replaces=asked.replaces
    )
    return answered(response, shared)


@router.post(
    f"{PROCEDURE}/decline",
    summary="Decline an offer",
    responses=responses(
        MalformedJson,
        Unauthorized,
        TokenExpired,
        Forbidden,
        UnknownAgent,
        UnknownProcedure,
        ProcedureChanged,
        InvalidRequest,
    ),
)
async def decline_offer(
    agent: Agent, procedure_id: ProcedureId, scope: Caller, services: Services, response: Response, asked: Declination
) -> Procedure:
    """Refuse to share an offered skill. Its maker keeps it and sees the `reason`. Needs `procedure:approve`."""
    declined = await services.skills.decline(
        scope,
        agent.id,
        procedure_id,
        user_id=asked.user_id,
        version=asked.version,
        reason=reason_line(asked.reason),
    )
    return answered(response, declined)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    match decode(cursor):
        case {"from": int(start)} if 0 < start < 10**6 and not isinstance(start, bool):
            return start
    raise InvalidRequest("cursor was not handed out by this list.")
