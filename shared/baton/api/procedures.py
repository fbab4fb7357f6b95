"""Procedures of agents: list, read, write, decide, try a message, and SKILL.md files."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar, cast

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from baton.api.agents import agent_of
from baton.api.authentication import Caller
from baton.api.problems import responses
from baton.api.procedure_schemas import (
    MAX_REASON,
    Approval,
    MatchRequest,
    Procedure,
    ProcedureChange,
    ProcedureMatches,
    ProcedureRequest,
    ProcedureWithVersions,
    Rejection,
)
from baton.api.schemas import Listing
from baton.api.services import Services
from baton.api.threads import Cursor, Limit
from baton.api.turn_schemas import ContextItem
from baton.domain.agent import AgentDefinition
from baton.domain.cursors import decode, decode_ordinal, encode, encode_ordinal
from baton.domain.errors import (
    Forbidden,
    InvalidRequest,
    MalformedJson,
    ProcedureChanged,
    TokenExpired,
    TooManyProcedures,
    Unauthorized,
    UnknownAgent,
    UnknownProcedure,
)
from baton.domain.identity import is_printable
from baton.domain.procedure import (
    InvalidProcedure,
    ProcedureAction,
    ProcedureDraft,
    ProcedureScope,
    ProcedureStatus,
    draft_from,
)
from baton.domain.skill_markdown import parse_skill_markdown, skill_markdown
from baton.memory.inspection.inspection import item_record

router = APIRouter(tags=["procedures"])

MARKDOWN = "text/markdown"
MAX_QUERY = 20_000
EXAMPLE = (
    "---\nname: Slack Alert\ndescription: Posts an alert.\ntriggers:\n- send slack alert\n---\n\n1. Post the alert.\n"
)
PROCEDURES = "/agents/{agent_id}/procedures"
PROCEDURE = f"{PROCEDURES}/{{procedure_id:procedure}}"

Body = TypeVar("Body", bound=BaseModel)
AgentId = Annotated[str, Path(description="The agent's id.", max_length=64, examples=["assistant"])]
ProcedureId = Annotated[str, Path(description="The procedure's id.", max_length=80, examples=["slack-alert"])]
Version = Annotated[int | None, Query(ge=1, le=999_999, description="A version; the newest without it.")]


async def _agent(agent_id: AgentId, scope: Caller, services: Services) -> AgentDefinition:
    return await agent_of(scope, services, agent_id, action="agent.read")


Agent = Annotated[AgentDefinition, Depends(_agent)]


def _described(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI entry of a body that is JSON or a SKILL.md."""
    schema = model.model_json_schema()
    content = {
        "application/json": {"schema": _inlined(schema, schema.pop("$defs", {}))},
        MARKDOWN: {"schema": {"type": "string"}, "example": EXAMPLE},
    }
    return {"requestBody": {"required": True, "content": content}}


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a JSON schema with its definitions in place of the references to them."""
    if isinstance(schema, list):
        return [_inlined(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {name: _inlined(value, definitions) for name, value in schema.items()}


@router.get(
    PROCEDURES,
    summary="List procedures",
    responses=responses(Unauthorized, TokenExpired, Forbidden, UnknownAgent, InvalidRequest),
)
async def list_procedures(
    agent: Agent,
    scope: Caller,
    services: Services,
    status: Annotated[
        list[ProcedureStatus] | None, Query(description="The statuses of the versions to list; all without it.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[Procedure]:
    """Return versions of procedures, the agent's own and those of all agents, by their last decision, newest first.

    Versions that are not approved need `procedure:approve`; without it and without `status`, approved ones are listed.
    """
    wanted = status or services.procedures.statuses_for(scope)
    found, after = await services.procedures.page(
        scope, agent.id, list(dict.fromkeys(wanted)), limit=limit, cursor=cursor
    )
    return Listing[Procedure](items=[Procedure.shown(each) for each in found], next_cursor=after)


@router.post(
    PROCEDURES,
    summary="Create a procedure",
    status_code=201,
    openapi_extra=_described(ProcedureRequest),
    responses=responses(MalformedJson, Unauthorized, TokenExpired, Forbidden, UnknownAgent, InvalidRequest),
)
async def create_procedure(agent: Agent, scope: Caller, services: Services, request: Request) -> Procedure:
    """Save a procedure as pending: JSON, or a SKILL.md as `text/markdown`, with `?scope=tenant` for all agents.

    A name that is in use makes that procedure's next version. The same content again makes none. Needs
    `procedure:approve` or `skill:create`.
    """
    if _is_markdown(request):
        of = request.query_params.get("scope", ProcedureScope.AGENT)
        if of not in list(ProcedureScope):
            raise InvalidRequest("scope must be agent or tenant.")
        draft = await _uploaded(request)
    else:
        asked = await _asked(request, ProcedureRequest)
        draft, of = _draft(asked.fields()), asked.scope
    saved = await services.procedures.create(scope, agent.id, draft, ProcedureScope(of))
    return cast("Procedure", Procedure.shown(saved))


@router.post(
    f"{PROCEDURES}/match",
    summary="Try a message",
    responses=responses(MalformedJson, Unauthorized, TokenExpired, UnknownAgent, InvalidRequest),
)
async def match_procedures(agent: Agent, scope: Caller, services: Services, asked: MatchRequest) -> ProcedureMatches:
    """Return the procedures that a turn would find for a message, and which one it would follow."""
    if not asked.query.strip():
        raise InvalidRequest("query must hold words: it is empty or blank.")
    if len(asked.query) > MAX_QUERY:
        raise InvalidRequest(f"query must have at most {MAX_QUERY} characters.")
    block = await services.procedures.match(scope, agent, asked.query)
    items = [ContextItem.model_validate(item_record(item)) for item in block.items[: asked.limit]]
    return ProcedureMatches(items=items, error=block.error)


@router.get(
    PROCEDURE,
    summary="Read a procedure",
    responses=responses(Unauthorized, TokenExpired, UnknownAgent, UnknownProcedure, InvalidRequest),
)
async def get_procedure(
    agent: Agent,
    procedure_id: ProcedureId,
    scope: Caller,
    services: Services,
    request: Request,
    version: Version = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> ProcedureWithVersions:
    """Return the newest version, or another, and all versions, newest first; a SKILL.md for `Accept: text/markdown`.

    Without `procedure:approve` there is the approved version only.
    """
    before = decode_ordinal(cursor) if cursor else None
    found = await services.procedures.read(scope, agent.id, procedure_id, version=version, limit=limit, before=before)
    if MARKDOWN in request.headers.get("accept", ""):
        return cast("ProcedureWithVersions", _file(found.shown.draft))
    shown = ProcedureWithVersions.shown(
        found.shown,
        versions=[Procedure.shown(each) for each in found.versions],
        next_cursor=encode_ordinal(found.before) if found.before is not None else None,
    )
    return cast("ProcedureWithVersions", shown)


@router.get(
    f"{PROCEDURE}/SKILL.md",
    summary="Export a procedure",
    response_class=Response,
    responses={
        200: {"content": {MARKDOWN: {"schema": {"type": "string"}, "example": EXAMPLE}}},
        **responses(Unauthorized, TokenExpired, UnknownAgent, UnknownProcedure, InvalidRequest),
    },
)
async def export_procedure(
    agent: Agent, procedure_id: ProcedureId, scope: Caller, services: Services, version: Version = None
) -> Response:
    """Return a version as a SKILL.md, which can be imported again."""
    found = await services.procedures.read(scope, agent.id, procedure_id, version=version, limit=1, before=None)
    return _file(found.shown.draft)


@router.put(
    PROCEDURE,
    summary="Change a procedure",
    openapi_extra=_described(ProcedureChange),
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
async def change_procedure(
    agent: Agent, procedure_id: ProcedureId, scope: Caller, services: Services, request: Request
) -> Procedure:
    """Save changed content as a new pending version: JSON, or a SKILL.md as `text/markdown` with `?version=`.

    `version` is the newest one, which was changed. If that is pending, it is retired: whoever approves a version has
    read just that. Needs `procedure:approve`.
    """
    if _is_markdown(request):
        given = request.query_params.get("version", "")
        if not (given.isascii() and given.isdecimal() and 1 <= len(given) <= 6):
            raise InvalidRequest("version: the version that was changed is missing or no number.")
        draft, version = await _uploaded(request), int(given)
    else:
        asked = await _asked(request, ProcedureChange)
        draft, version = _draft(asked.fields()), asked.version
    saved = await services.procedures.change(scope, agent.id, procedure_id, draft, version=version)
    return cast("Procedure", Procedure.shown(saved))


_DECIDING = responses(
    MalformedJson,
    Unauthorized,
    TokenExpired,
    Forbidden,
    UnknownAgent,
    UnknownProcedure,
    ProcedureChanged,
    TooManyProcedures,
    InvalidRequest,
)


@router.post(f"{PROCEDURE}/approve", summary="Approve a version", responses=_DECIDING)
async def approve_procedure(
    agent: Agent, procedure_id: ProcedureId, scope: Caller, services: Services, asked: Approval | None = None
) -> Procedure:
    """Let turns follow a pending version. The approved version, if any, is retired. Needs `procedure:approve`."""
    decided = await services.procedures.decide(
        scope, agent.id, procedure_id, ProcedureAction.APPROVE, version=asked.version if asked is not None else None
    )
    return cast("Procedure", Procedure.shown(decided))


@router.post(f"{PROCEDURE}/reject", summary="Reject a version", responses=_DECIDING)
async def reject_procedure(
    agent: Agent, procedure_id: ProcedureId, scope: Caller, services: Services, asked: Rejection
) -> Procedure:
    """Reject a pending version. Needs `procedure:approve`."""
    decided = await services.procedures.decide(
        scope,
        agent.id,
        procedure_id,
        ProcedureAction.REJECT,
        version=asked.version,
        reason=_reason(asked.reason),
    )
    return cast("Procedure", Procedure.shown(decided))


@router.delete(PROCEDURE, summary="Retire a version", responses=_DECIDING)
async def retire_procedure(
    agent: Agent,
    procedure_id: ProcedureId,
    scope: Caller,
    services: Services,
    version: Annotated[int, Query(ge=1, le=999_999, description="The version that the caller has read.")],
    reason: Annotated[
        str | None, Query(min_length=1, max_length=MAX_REASON, description="Why; it is stored and audited.")
    ] = None,
) -> Procedure:
    """Stop following the approved version, or withdraw a pending one. It is kept. Needs `procedure:approve`."""
    decided = await services.procedures.decide(
        scope,
        agent.id,
        procedure_id,
        ProcedureAction.RETIRE,
        version=version,
        reason=_reason(reason) if reason is not None else None,
    )
    return cast("Procedure", Procedure.shown(decided))


@router.get("/skills", summary="List skills", responses=responses(Unauthorized, TokenExpired, InvalidRequest))
async def list_skills(
    scope: Caller, services: Services, limit: Limit = 50, cursor: Cursor = None
) -> Listing[Procedure]:
    """Return the approved procedures of all agents that the caller may talk to, by agent; last those of all agents."""
    start = _position(cursor)
    agents = (await services.agents.of(scope)).visible(scope)
    found = await services.procedures.usable(scope, agents)
    after = encode({"from": start + limit}) if len(found) > start + limit else None
    items = [Procedure.shown(each) for each in found[start : start + limit]]
    return Listing[Procedure](items=items, next_cursor=after)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    match decode(cursor):
        case {"from": int(start)} if 0 < start < 10**6 and not isinstance(start, bool):
            return start
    raise InvalidRequest("cursor was not handed out by this list.")


def _is_markdown(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == MARKDOWN


async def _asked(request: Request, model: type[Body]) -> Body:
    """Return the JSON in the body, as FastAPI does where nothing else is accepted."""
    try:
        value = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise MalformedJson from None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


async def _uploaded(request: Request) -> ProcedureDraft:
    """Return the SKILL.md in the body. Raises ``InvalidRequest``."""
    try:
        return parse_skill_markdown((await request.body()).decode())
    except UnicodeDecodeError:
        raise InvalidRequest("A SKILL.md is encoded as UTF-8.") from None
    except InvalidProcedure as invalid:
        raise InvalidRequest(f"{invalid}.") from None


def _draft(fields: dict[str, Any]) -> ProcedureDraft:
    try:
        return draft_from(fields)
    except InvalidProcedure as invalid:
        raise InvalidRequest(f"{invalid}.") from None


def _reason(text: str) -> str:
    line = " ".join(text.split())
    if not is_printable(line, MAX_REASON):
        raise InvalidRequest("reason must be printable text.")
    return line


def _file(draft: ProcedureDraft) -> Response:
    return Response(skill_markdown(draft), media_type=f"{MARKDOWN}; charset=utf-8")
