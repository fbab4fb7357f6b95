"""Routes of the caller's unfinished workflows, and of completed workflows with their collected data."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

from baton.api.http.dependencies import Caller, Cursor, Limit, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing, describe
from baton.api.threads.access import find_agents_of_workflows
from baton.api.threads.thread_filters import parse_period
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import Permission
from baton.domain.threads.thread_state import Workflow, describe_resumable_workflow
from baton.domain.times import to_iso
from baton.domain.wire_model import THREAD_ID, TIMESTAMP, WORKFLOW_ID, RequestTime, Timestamp, WireModel
from baton.ports.threads.handoffs import CompletedQuery
from baton.ports.threads.handoffs import CompletedWorkflow as Record

router = APIRouter(prefix="/v1", tags=["workflows"])


class CompletedWorkflow(WireModel):
    """A guided workflow that has reached its end."""

    id: str = Field(examples=[WORKFLOW_ID])
    agent_id: str = describe("The specialist whose workflow it was.", "returns")
    user_id: str = Field(examples=["alice"])
    thread_id: str = describe("The conversation in which it ended.", THREAD_ID)
    name: str = describe("The name that the user has seen.", "the return of order 123456")
    state: str = describe("The final state.", "DONE")
    data: dict[str, dict[str, Any]] = describe("The collected data by state.", {"ORDER": {"number": "123456"}})
    result: str | None = describe("The answer of the tool that completed it; null without one.", "Return 7.")
    completed_at: Timestamp = Field(examples=[TIMESTAMP])

    @classmethod
    def from_record(cls, record: Record) -> CompletedWorkflow:
        """Return the served form of a stored workflow."""
        workflow, user_id = record
        data = {state: dict(fields) for state, fields in workflow.data.items() if fields}
        return cls.of(workflow, user_id=user_id, data=data, completed_at=workflow.updated_at)


@router.get("/workflows", summary="List unfinished workflows")
async def list_workflows(caller: Caller, app: UseCases) -> Listing[Workflow]:
    """Return the caller's active and resumable workflows of all conversations, latest change first, on one page.

    `POST /v1/threads/{id}/continue` continues a workflow.
    """
    unfinished = await app.ports.workflows.list_unfinished(caller)
    workflows = [workflow for workflow, _ in unfinished]
    agents = await find_agents_of_workflows(app, caller, workflows)
    items = [
        describe_resumable_workflow(registered.describe, workflow)
        for registered, workflow in zip(agents, workflows, strict=True)
    ]
    return Listing[Workflow](items=items, next_cursor=None)


@router.get("/workflows/completed", summary="List completed workflows", responses=responses("forbidden"))
async def list_completed_workflows(
    caller: Caller,
    app: UseCases,
    limit: Limit = 50,
    cursor: Cursor = None,
    scope: Annotated[
        Literal["user", "tenant"], query("`tenant` lists those of all users; it needs `thread:read_all`.")
    ] = "user",
    user_id: Annotated[
        str | None, query("With `scope=tenant`: only those of this user.", "alice", alias="userId", max_length=256)
    ] = None,
    agent_id: Annotated[
        str | None, query("Only those of this agent.", "returns", alias="agentId", max_length=64)
    ] = None,
    state: Annotated[str | None, query("Only those that ended in this state.", "DONE", max_length=64)] = None,
    since: Annotated[
        RequestTime | None, query("Only those completed at or after this time.", TIMESTAMP, alias="from")
    ] = None,
    until: Annotated[
        RequestTime | None, query("Only those completed at or before this time.", TIMESTAMP, alias="to")
    ] = None,
) -> Listing[CompletedWorkflow]:
    """Return the caller's completed workflows, or the tenant's, with their data, the newest first.

    A page may have fewer items than `limit`, or none, and still have a `nextCursor`, because other workflows are
    skipped. Workflows are kept as long as their conversation.
    """
    if scope == "tenant":
        caller.require(Permission.THREAD_READ_ALL, "workflow.list")
    elif user_id is not None:
        raise InvalidRequest("userId: it needs scope=tenant. Without it, your own workflows are listed.")
    start, end = parse_period(since, until)
    listed_user = user_id if scope == "tenant" else caller.user_id
    selection = CompletedQuery(listed_user, agent_id, state.upper() if state is not None else None, start, end)
    if scope == "tenant":
        filters = {"userId": user_id, "agentId": agent_id, "state": state}
        times = {"from": start, "to": end}
        detail = {**filters, **{name: to_iso(time) for name, time in times.items() if time is not None}}
        detail = {name: value for name, value in detail.items() if value is not None}
        await app.ports.audit.record(caller, "workflow.list", thread_id=None, outcome="allowed", detail=detail)
    records, next_cursor = await app.ports.workflows.list_completed(caller, selection, limit=limit, cursor=cursor)
    items = [CompletedWorkflow.from_record(record) for record in records]
    items = await app.privacy.readers.redact_each_for(caller, items, lambda workflow: workflow.user_id)
    return Listing[CompletedWorkflow](items=items, next_cursor=next_cursor)
