"""Routes of agents' procedures: list, read, write, decide, try a message, and SKILL.md files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Body, Depends, Path, Request, Response

from baton.api.http.dependencies import AgentId, Caller, Cursor, Limit, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing, check_query
from baton.api.memory.procedure_bodies import (
    EXAMPLE,
    MARKDOWN,
    IfMatch,
    describe_body,
    is_markdown,
    make_etag,
    read_json,
    read_markdown,
    read_version,
    to_draft,
)
from baton.api.memory.procedure_schemas import (
    MAX_REASON,
    Approval,
    MatchRequest,
    ProcedureChange,
    ProcedureMatches,
    ProcedureRequest,
    ProcedureWithVersions,
    Rejection,
    ServedProcedure,
)
from baton.api.threads.access import get_agent
from baton.composition.app import App
from baton.domain import errors
from baton.domain.agents.agent import AgentDefinition
from baton.domain.cursors import decode_ordinal, encode_ordinal
from baton.domain.memory.inspection import ContextItem
from baton.domain.memory.procedure import REVIEWED, Procedure, ProcedureAction, ProcedureScope, ProcedureStatus
from baton.domain.memory.skill_markdown import write_skill_markdown
from baton.domain.tenants.identity import MAX_USER_ID, Scope, is_printable
from baton.memory.procedures.administration import ProcedureVersions, ReadVersion
from baton.memory.procedures.skill_administration import is_private_id

router = APIRouter(prefix="/v1", tags=["procedures"])

PROCEDURES = "/agents/{agent_id}/procedures"
PROCEDURE = f"{PROCEDURES}/{{procedure_id:procedure}}"

ProcedureId = Annotated[str, Path(description="The procedure's id.", max_length=80, examples=["slack-alert"])]
UserId = Annotated[
    str | None, query("The maker of a private skill that is offered.", alias="userId", max_length=MAX_USER_ID)
]
Version = Annotated[int | None, query("A version; the newest without it.", ge=1, le=999_999)]


async def _find_agent(agent_id: AgentId, scope: Caller, app: UseCases) -> AgentDefinition:
    return await get_agent(scope, app, agent_id, action="agent.read")


Agent = Annotated[AgentDefinition, Depends(_find_agent)]


@dataclass(frozen=True, slots=True)
class NamedProcedure:
    """The procedure in the path of a request, whose agent the caller may use."""

    id: str
    agent: AgentDefinition
    scope: Scope
    app: App
    response: Response

    async def decide(
        self, action: ProcedureAction, read: ReadVersion | None, reason: str | None = None
    ) -> ServedProcedure:
        """Carry out a decision about the version ``read``, or the newest for None, and return that version."""
        line = parse_reason(reason) if reason is not None else None
        administration = self.app.procedures.administration
        return self.serve(
            await administration.decide(self.scope, self.agent.id, self.id, action, read=read, reason=line)
        )

    def serve(self, version: Procedure) -> ServedProcedure:
        """Return the served form of a version, and set its ``ETag`` on the response."""
        self.response.headers["ETag"] = make_etag(version)
        return ServedProcedure.from_record(version)


async def _find_named(
    agent: Agent, procedure_id: ProcedureId, scope: Caller, app: UseCases, response: Response
) -> NamedProcedure:
    return NamedProcedure(procedure_id, agent, scope, app, response)


Named = Annotated[NamedProcedure, Depends(_find_named)]


@router.get(PROCEDURES, summary="List procedures", responses=responses("forbidden"))
async def list_procedures(
    agent: Agent,
    scope: Caller,
    app: UseCases,
    status: Annotated[
        list[ProcedureStatus] | None, query("The statuses of the versions to list; all without it.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[ServedProcedure]:
    """Return versions of procedures, the agent's own and those of all agents, by their last decision, newest first.

    Versions that are not approved need `procedure:approve`; without this permission and `status`, only approved
    versions are listed. Private skills are not listed here: `GET /v1/skills` lists them for their makers, and
    `GET /v1/procedures?status=offered` lists offered skills.
    """
    statuses = status or app.procedures.administration.list_readable_statuses(scope)
    if not set(statuses) <= set(REVIEWED):
        raise errors.InvalidRequest(
            "status: private skills are listed by GET /v1/skills, offers by GET /v1/procedures."
        )
    procedures, after = await app.procedures.administration.read_page(
        scope, agent.id, list(dict.fromkeys(statuses)), limit=limit, cursor=cursor
    )
    return Listing[ServedProcedure](items=list(map(ServedProcedure.from_record, procedures)), next_cursor=after)


@router.post(
    PROCEDURES,
    summary="Create a procedure",
    status_code=201,
    openapi_extra=describe_body(ProcedureRequest),
    responses=responses("forbidden"),
)
async def create_procedure(agent: Agent, scope: Caller, app: UseCases, request: Request) -> ServedProcedure:
    """Save a procedure as pending: JSON, or a SKILL.md as `text/markdown`, with `?scope=tenant` for all agents.

    If a procedure of this name exists, its next version is saved. The same content again makes no version. Needs
    `procedure:approve` or `skill:create`.
    """
    if is_markdown(request):
        procedure_scope = request.query_params.get("scope", ProcedureScope.AGENT)
        if procedure_scope not in (ProcedureScope.AGENT, ProcedureScope.TENANT):
            raise errors.InvalidRequest("scope must be agent or tenant.")
        draft = await read_markdown(request)
    else:
        sent = await read_json(request, ProcedureRequest)
        draft, procedure_scope = to_draft(sent.to_fields()), sent.scope
    saved = await app.procedures.administration.create(scope, agent.id, draft, ProcedureScope(procedure_scope))
    return ServedProcedure.from_record(saved)


@router.post(f"{PROCEDURES}/match", summary="Try a message")
async def match_procedures(agent: Agent, scope: Caller, app: UseCases, body: MatchRequest) -> ProcedureMatches:
    """Return the procedures that a turn would find for a message, with the procedure that it would follow."""
    check_query(body.query)
    block = await app.procedures.administration.match(scope, agent, body.query)
    items = [ContextItem.from_found(item) for item in block.items[: body.limit]]
    return ProcedureMatches(items=items, error=block.error)


@router.get(PROCEDURE, summary="Read a procedure")
async def get_procedure(
    named: Named,
    request: Request,
    version: Version = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    user_id: UserId = None,
) -> ProcedureWithVersions:
    """Return the newest or a given version, and all versions, newest first; a SKILL.md for `Accept: text/markdown`.

    Without `procedure:approve`, only the approved version is returned. `ETag` has the version and its status. Only the
    newest version of a private skill is returned, to its maker and, while it is offered, to holders of
    `procedure:approve`.
    """
    before = decode_ordinal(cursor) if cursor else None
    versions = await _read_versions(named, user_id, version, limit=limit, before=before)
    if MARKDOWN in request.headers.get("accept", ""):
        return cast("ProcedureWithVersions", _make_markdown_response(versions.shown))
    named.response.headers["ETag"] = make_etag(versions.shown)
    return ProcedureWithVersions.from_record(
        versions.shown,
        versions=list(map(ServedProcedure.from_record, versions.versions)),
        next_cursor=encode_ordinal(versions.before) if versions.before is not None else None,
    )


@router.get(
    f"{PROCEDURE}/SKILL.md",
    summary="Export a procedure",
    response_class=Response,
    responses={200: {"content": {MARKDOWN: {"schema": {"type": "string"}, "example": EXAMPLE}}}},
)
async def export_procedure(named: Named, version: Version = None, user_id: UserId = None) -> Response:
    """Return a version as a SKILL.md, which can be sent again to create or change a procedure."""
    return _make_markdown_response((await _read_versions(named, user_id, version, limit=1, before=None)).shown)


async def _read_versions(
    named: NamedProcedure, user_id: str | None, version: int | None, *, limit: int, before: int | None
) -> ProcedureVersions:
    """Return a version, by default the newest, and a page of all versions below ``before``.

    A private skill, whose maker is ``user_id``, has only its newest version. Raises ``UnknownProcedure``.
    """
    scope, agent_id, procedures = named.scope, named.agent.id, named.app.procedures
    if not is_private_id(named.id):
        return await procedures.administration.read(
            scope, agent_id, named.id, version=version, limit=limit, before=before
        )
    skill = await procedures.skills.read(scope, agent_id, named.id, user_id=user_id)
    if version not in (None, skill.version):
        raise errors.UnknownProcedure
    return ProcedureVersions(skill, [skill], None)


_CHANGED_VERSION = {
    "name": "version",
    "in": "query",
    "required": False,
    "description": "For a SKILL.md: the version on which the change is based.",
    "schema": {"type": "integer", "minimum": 1},
}


@router.put(
    PROCEDURE,
    summary="Change a procedure",
    openapi_extra={**describe_body(ProcedureChange), "parameters": [_CHANGED_VERSION]},
    responses=responses("forbidden procedure_changed procedure_version_mismatch"),
)
async def change_procedure(named: Named, request: Request, if_match: IfMatch = None) -> ServedProcedure:
    """Save changed content as a new pending version: JSON, or a SKILL.md as `text/markdown` with `?version=`.

    `version` or `If-Match` must name the newest version, on which the change is based. If that version is pending, it
    is retired, so that nobody approves an outdated text. Needs `procedure:approve`.
    """
    if is_markdown(request):
        number = request.query_params.get("version")
        if number is not None and not (number.isascii() and number.isdecimal() and 1 <= len(number) <= 6):
            raise errors.InvalidRequest("version must be the number of the version that was changed.")
        draft, version = await read_markdown(request), int(number) if number is not None else None
    else:
        sent = await read_json(request, ProcedureChange)
        draft, version = to_draft(sent.to_fields()), sent.version
    read = read_version(if_match, version)
    if read is None:
        raise errors.InvalidRequest("version: name the version that was changed, here or in If-Match.")
    administration = named.app.procedures.administration
    return named.serve(await administration.change(named.scope, named.agent.id, named.id, draft, read=read))


_DECIDING = responses("malformed_json forbidden procedure_changed procedure_version_mismatch too_many_procedures")


@router.post(f"{PROCEDURE}/approve", summary="Approve a version", responses=_DECIDING)
async def approve_procedure(
    named: Named, approval: Annotated[Approval | None, Body(title="Asked")] = None, if_match: IfMatch = None
) -> ServedProcedure:
    """Let turns follow a pending version. The approved version, if any, is retired. Needs `procedure:approve`."""
    read = read_version(if_match, approval.version if approval is not None else None)
    return await named.decide(ProcedureAction.APPROVE, read)


@router.post(f"{PROCEDURE}/reject", summary="Reject a version", responses=_DECIDING)
async def reject_procedure(named: Named, rejection: Rejection, if_match: IfMatch = None) -> ServedProcedure:
    """Reject a pending version. Needs `procedure:approve`."""
    return await named.decide(ProcedureAction.REJECT, read_version(if_match, rejection.version), rejection.reason)


@router.delete(PROCEDURE, summary="Retire a version", responses=_DECIDING)
async def retire_procedure(
    named: Named,
    version: Annotated[int, query("The version that the caller has read.", ge=1, le=999_999)],
    reason: Annotated[
        str | None, query("The reason; it is stored and audited.", min_length=1, max_length=MAX_REASON)
    ] = None,
    if_match: IfMatch = None,
) -> ServedProcedure:
    """Retire the approved version, which turns then no longer follow, or a pending version. Needs `procedure:approve`.

    The version can still be read. The caller's own private skill is removed, which needs no permission.
    """
    if is_private_id(named.id):
        skills = named.app.procedures.skills
        return named.serve(await skills.remove(named.scope, named.agent.id, named.id, version=version))
    return await named.decide(ProcedureAction.RETIRE, read_version(if_match, version), reason)


def parse_reason(text: str) -> str:
    """Return a reason as one line. Raises ``InvalidRequest`` for a text that is empty, too long or not printable."""
    line = " ".join(text.split())
    if not is_printable(line, MAX_REASON):
        raise errors.InvalidRequest(f"reason must be 1 to {MAX_REASON} printable characters.")
    return line


def _make_markdown_response(procedure: Procedure) -> Response:
    headers = {"ETag": make_etag(procedure)}
    return Response(write_skill_markdown(procedure.draft), media_type=f"{MARKDOWN}; charset=utf-8", headers=headers)
