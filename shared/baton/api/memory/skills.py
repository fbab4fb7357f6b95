"""Routes of all agents' procedures: reviews, skills that callers may use, and offers of private skills."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body

from baton.api.http.dependencies import Caller, Cursor, Limit, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing
from baton.api.memory.procedure_schemas import Declination, ProcedureSourceTurns, SentOffer, ServedProcedure, Sharing
from baton.api.memory.procedures import PROCEDURE, Named, NamedProcedure, Version, parse_reason
from baton.domain import errors
from baton.domain.cursors import decode, encode
from baton.domain.memory.private_skill import SkillAction
from baton.domain.memory.procedure import REVIEWED, ProcedureScope, ProcedureStatus
from baton.domain.tenants.identity import Permission
from baton.memory.procedures.procedure_sources import READ

router = APIRouter(prefix="/v1", tags=["procedures"])

_REVIEWING = responses("forbidden store_unavailable")
_OFFERING = responses("malformed_json procedure_changed")


@router.get("/skills", summary="List skills")
async def list_skills(
    scope: Caller,
    app: UseCases,
    of: Annotated[ProcedureScope | None, query("Only skills of this scope.", alias="scope")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[ServedProcedure]:
    """Return the skills that the caller may use.

    First come the approved procedures of each agent that the caller may use, then the approved procedures for all
    agents, and then the caller's own private skills (`scope: "user"`).
    """
    start = _read_position(cursor)
    agents = (await app.agents.in_force(scope)).list_visible(scope)
    procedures = [] if of is ProcedureScope.USER else await app.procedures.administration.list_usable(scope, agents)
    if of in (None, ProcedureScope.USER):
        procedures += await app.procedures.skills.list_own(scope, agents)
    procedures = [procedure for procedure in procedures if of in (None, procedure.scope)]
    after = encode({"from": start + limit}) if len(procedures) > start + limit else None
    items = [ServedProcedure.from_record(procedure) for procedure in procedures[start : start + limit]]
    return Listing[ServedProcedure](items=items, next_cursor=after)


@router.post(f"{PROCEDURE}/offer", summary="Offer a private skill", responses=_OFFERING)
async def offer_skill(named: Named, offer: Annotated[SentOffer | None, Body(title="Asked")] = None) -> ServedProcedure:
    """Offer the caller's own private skill for sharing, which lets holders of `procedure:approve` read it."""
    return await _change_offer(named, SkillAction.OFFER, offer.version if offer is not None else None)


@router.delete(f"{PROCEDURE}/offer", summary="Withdraw an offer", responses=_OFFERING)
async def withdraw_offer(named: Named) -> ServedProcedure:
    """Withdraw the offer of the caller's own private skill."""
    return await _change_offer(named, SkillAction.WITHDRAW, None)


async def _change_offer(named: NamedProcedure, action: SkillAction, version: int | None) -> ServedProcedure:
    skills = named.app.procedures.skills
    return named.serve(await skills.change_offer(named.scope, named.agent.id, named.id, action, version=version))


@router.post(
    f"{PROCEDURE}/share",
    summary="Share a private skill",
    responses=responses("forbidden procedure_changed procedure_name_taken too_many_procedures"),
)
async def share_skill(named: Named, sharing: Sharing) -> ServedProcedure:
    """Make an offered skill, or the caller's own, an approved procedure of the agent, for all its users.

    If a procedure of its name is approved already, `replaces` must name that version; otherwise the request is refused
    with 409 `procedure_name_taken`. A repeated request of the same user gets the same answer. Needs
    `procedure:approve`.
    """
    skills = named.app.procedures.skills
    return named.serve(await skills.share(named.scope, named.agent.id, named.id, **sharing.model_dump()))


@router.post(f"{PROCEDURE}/decline", summary="Decline an offer", responses=responses("forbidden procedure_changed"))
async def decline_offer(named: Named, declination: Declination) -> ServedProcedure:
    """Refuse to share an offered skill. Its maker keeps it and sees the `reason`. Needs `procedure:approve`."""
    fields = {**declination.model_dump(), "reason": parse_reason(declination.reason)}
    return named.serve(await named.app.procedures.skills.decline(named.scope, named.agent.id, named.id, **fields))


def _read_position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    match decode(cursor):
        case {"from": int(start)} if 0 < start < 10**6 and not isinstance(start, bool):
            return start
    raise errors.InvalidRequest("cursor was not handed out by this list.")


@router.get("/procedures", summary="List all agents' procedures", responses=_REVIEWING)
async def list_all_procedures(
    scope: Caller,
    app: UseCases,
    status: Annotated[ProcedureStatus, query("The status of the versions.")] = ProcedureStatus.PENDING,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[ServedProcedure]:
    """Return versions of all agents' procedures in one status, by their last decision, newest first.

    By default, it lists the versions that wait for a decision. `offered` lists the private skills that users have
    offered; `createdBy` is the maker. Agents that the caller may not use are left out. Needs `procedure:approve`.
    """
    scope.require(Permission.PROCEDURE_APPROVE, "procedure.read")
    agents = (await app.agents.in_force(scope)).list_visible(scope)
    if status is ProcedureStatus.OFFERED:
        ids = [agent.id for agent in agents]
        procedures, after = await app.procedures.skills.list_offered(scope, ids, limit=limit, cursor=cursor)
    elif status in REVIEWED:
        procedures, after = await app.procedures.administration.of_all_agents(
            scope, agents, status, limit=limit, cursor=cursor
        )
    else:
        raise errors.InvalidRequest("status: private skills that are not offered are their makers' own.")
    return Listing[ServedProcedure](items=list(map(ServedProcedure.from_record, procedures)), next_cursor=after)


@router.get(f"{PROCEDURE}/source", summary="Read the source of a procedure", responses=_REVIEWING)
async def get_source(named: Named, version: Version = None) -> ProcedureSourceTurns:
    """Return the messages and calls of the task from which a version was made, and no other part of the conversation.

    Needs `procedure:approve`. Personal data of other users is replaced, unless the caller has `pii:read`. Reading
    another user's conversation is audited.
    """
    scope, procedures = named.scope, named.app.procedures
    scope.require(Permission.PROCEDURE_APPROVE, READ)
    versions = await procedures.administration.read(
        scope, named.agent.id, named.id, version=version, limit=1, before=None
    )
    source = versions.shown.source
    turns = await procedures.sources.read(scope, source)
    return ProcedureSourceTurns.of(
        turns,
        version=versions.shown.version,
        thread_id=source.thread_id if source is not None else None,
        run_id=source.run_id if source is not None else None,
        redacted=turns.is_redacted,
    )
