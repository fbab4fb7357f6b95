"""Routes that make, list, change and cancel schedules and reminders."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Response

from baton.api.http.dependencies import Caller, Cursor, Limit, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing
from baton.api.schedules.schedule_schemas import SCHEDULE_ID, ScheduleChangeRequest, ScheduleRequest, ServedSchedule
from baton.composition.app import App
from baton.domain.schedules.schedule import OwnedSchedule, ScheduleStatus
from baton.domain.tenants.identity import Scope, resolve_thread_ref
from baton.threads.schedules import schedule_making

router = APIRouter(prefix="/v1/schedules", tags=["schedules"], responses=responses("store_unavailable"))


async def _decode_schedule_id(
    schedule_id: Annotated[
        str, Path(description="The schedule's id, percent-encoded.", max_length=1_536, examples=[SCHEDULE_ID])
    ],
) -> str:
    return unquote(schedule_id)


ScheduleId = Annotated[str, Depends(_decode_schedule_id)]
OfUser = Annotated[
    str | None,
    query("The schedule's user, if it is not the caller; it needs `schedule:manage`.", "alice", alias="userId"),
]


async def _serve(app: App, caller: Scope, owned: OwnedSchedule) -> ServedSchedule:
    served = ServedSchedule.from_record(owned, names_user=owned.user_id != caller.user_id)
    return await app.privacy.readers.redact_for(caller, owned.user_id, served)


@router.post(
    "",
    status_code=201,
    summary="Make a schedule",
    responses={
        200: {"model": ServedSchedule, "description": "The caller's schedule that has the id already."},
        **responses("unknown_agent thread_unavailable agent_mismatch limit_reached"),
    },
)
async def create_schedule(body: ScheduleRequest, caller: Caller, app: UseCases, response: Response) -> ServedSchedule:
    """Schedule a question to an agent, once or repeatedly, in one of the caller's conversations.

    The agent must allow schedules. A repeated request with the same `id` gets 200 and the existing schedule. It is
    audited.
    """
    values = body.model_dump(exclude={"thread_id"})
    thread = resolve_thread_ref(caller, body.thread_id) if body.thread_id is not None else None
    request = schedule_making.ScheduleRequest(**values, thread=thread)
    schedule, is_new = await app.self_started.schedule_making.create(caller, request)
    if not is_new:
        response.status_code = 200
    return await _serve(app, caller, OwnedSchedule(caller.user_id, schedule))


@router.get("", summary="List schedules", responses=responses("forbidden"))
async def list_schedules(
    caller: Caller,
    app: UseCases,
    scope: Annotated[
        Literal["user", "tenant"], query("`tenant` lists those of all users; it needs `schedule:manage`.")
    ] = "user",
    status: Annotated[ScheduleStatus | None, query("Only those with this status.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[ServedSchedule]:
    """Return the caller's schedules, the next slot first. Schedules without a further slot come last.

    The tenant's schedules are listed user by user, with `userId`, and the read is audited. A page of them may have
    fewer items than `limit` and still have a `nextCursor`. Personal data in other users' texts is replaced, unless the
    caller has `pii:read`.
    """
    lists = app.self_started.schedule_lists
    list_page = lists.of_tenant if scope == "tenant" else lists.of_user
    page, next_cursor = await list_page(caller, status=status, limit=limit, cursor=cursor)
    items = [ServedSchedule.from_record(owned, names_user=scope == "tenant") for owned in page]
    if scope == "tenant":
        items = await app.privacy.readers.redact_each_for(caller, items, lambda item: item.user_id or "")
    return Listing[ServedSchedule](items=items, next_cursor=next_cursor)


@router.get("/{schedule_id}", summary="Read a schedule", responses=responses("forbidden not_found"))
async def get_schedule(
    schedule_id: ScheduleId, caller: Caller, app: UseCases, user_id: OfUser = None
) -> ServedSchedule:
    """Return one schedule. Reading another user's schedule is audited."""
    return await _serve(app, caller, await app.self_started.schedule_making.get(caller, schedule_id, owner_id=user_id))


@router.patch("/{schedule_id}", summary="Change a schedule", responses=responses("forbidden not_found unknown_agent"))
async def change_schedule(
    schedule_id: ScheduleId, body: ScheduleChangeRequest, caller: Caller, app: UseCases, user_id: OfUser = None
) -> ServedSchedule:
    """Change, pause or resume a schedule. With a new `at` or `rule`, its slots are computed again. It is audited.

    Another user's schedule can only be paused and resumed.
    """
    change = schedule_making.ScheduleChange(**body.model_dump())
    changed = await app.self_started.schedule_making.change(caller, schedule_id, change, owner_id=user_id)
    return await _serve(app, caller, changed)


@router.delete(
    "/{schedule_id}", status_code=204, summary="Cancel a schedule", responses=responses("forbidden not_found")
)
async def cancel_schedule(schedule_id: ScheduleId, caller: Caller, app: UseCases, user_id: OfUser = None) -> None:
    """Cancel a schedule. A run that has begun continues. A repeated request gets 404. It is audited."""
    await app.self_started.schedule_making.remove(caller, schedule_id, owner_id=user_id)
