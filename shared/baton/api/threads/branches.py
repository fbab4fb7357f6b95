"""Routes of a thread's branches, and of its forks and sandboxes, which are separate conversations."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path

from baton.api.http.dependencies import Caller, Cursor, Limit, ThreadId, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing
from baton.api.runs.runs import TURN_SECONDS
from baton.api.threads.access import get_readable_thread, serve_thread
from baton.api.threads.message_schemas import MessageAnswer
from baton.api.threads.messages import wait_for_answer
from baton.api.threads.thread_schemas import (
    ForkRequest,
    MergeRequest,
    SandboxRequest,
    SelectedBranch,
    ServedBranch,
    ServedThread,
)
from baton.concurrency.tasks import gather_all
from baton.domain.cursors import decode_ordinal, encode_ordinal
from baton.domain.tenants.identity import resolve_thread_ref
from baton.domain.threads.branches import Alternative, list_alternatives
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread

MAX_TEXT = 200
"""Characters of a message that a list of branches shows."""

router = APIRouter(prefix="/v1/threads/{thread_id}", tags=["threads"])

BranchId = Annotated[str, Path(max_length=32, description="The branch's id.", examples=["b4"])]


@router.get("/branches", summary="List branches")
async def list_branches(
    thread_id: ThreadId, caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[ServedBranch]:
    """Return the user's messages that have alternatives, in the order in which they were sent.

    A conversation without regenerated answers and edited messages has no alternatives.
    """
    first = decode_ordinal(cursor) if cursor else 0
    thread = await get_readable_thread(app, caller, thread_id)
    branches = [
        alternative
        for alternative in list_alternatives(thread.segments, thread.next_ordinal)
        if alternative.ordinal >= first
    ]
    page, rest = branches[:limit], branches[limit:]

    async def read_message(ordinal: int) -> StoredMessage | None:
        stored = await app.ports.store.run_messages(caller, thread.id, first_ordinal=ordinal, below=ordinal + 1)
        return stored[0] if stored else None

    async def find_last_before(parent: int) -> str | None:
        return await app.branch_selection.find_last_shown_id(caller, thread.continue_from(parent))

    parents = sorted({alternative.parent for alternative in page})
    messages = await gather_all(*(read_message(alternative.ordinal) for alternative in page))
    ids = dict(zip(parents, await gather_all(*map(find_last_before, parents)), strict=True))
    items = [
        _serve_branch(thread, alternative, message, ids[alternative.parent])
        for alternative, message in zip(page, messages, strict=True)
        if message is not None
    ]
    items = await app.privacy.readers.redact_for(caller, thread.user_id, items)
    return Listing[ServedBranch](items=items, next_cursor=encode_ordinal(rest[0].ordinal) if rest else None)


def _serve_branch(thread: Thread, alternative: Alternative, message: StoredMessage, after: str | None) -> ServedBranch:
    return ServedBranch(
        branch_id=alternative.id,
        message_id=message.shown_id,
        after=after,
        regenerate=message.branch is not None and message.branch.is_regenerate,
        selected=alternative.ordinal in thread.path,
        started_at=message.timestamp,
        text=message.text[:MAX_TEXT],
    )


@router.post(
    "/branches/{branch_id}/select",
    summary="Select a branch",
    responses=responses(
        "branch_unavailable branch_crosses_handoff too_many_branches run_in_progress "
        "approvals_waiting thread_led_by_parent store_unavailable"
    ),
)
async def select_branch(thread_id: ThreadId, branch_id: BranchId, scope: Caller, app: UseCases) -> SelectedBranch:
    """Continue the conversation with another branch, after its last message.

    Every tab is notified by `branch_selected`. The request is refused during a run, and while the conversation waits
    for an approval. Selecting the selected branch changes nothing.
    """
    canonical = resolve_thread_ref(scope, thread_id).id
    return SelectedBranch.of(await app.branch_selection.select(scope, canonical, branch_id))


@router.post(
    "/fork",
    summary="Branch a conversation",
    status_code=201,
    responses=responses("unknown_agent thread_busy store_unavailable"),
)
async def fork(thread_id: ThreadId, scope: Caller, app: UseCases, body: ForkRequest) -> ServedThread:
    """Create a conversation with another agent that begins with the last messages of this conversation.

    Its messages are not added to this conversation unless they are merged. It is listed only under
    `GET /v1/threads?parentThreadId=`. Every request creates another fork.
    """
    child = await app.forks.fork(
        scope,
        resolve_thread_ref(scope, thread_id).id,
        agent_id=body.agent_id,
        include_history_messages=body.include_history_messages,
    )
    return await serve_thread(app, scope, child)


@router.post(
    "/sandbox",
    summary="Copy a conversation into a sandbox",
    status_code=201,
    responses=responses("not_found unknown_agent thread_busy store_unavailable"),
)
async def make_sandbox(thread_id: ThreadId, scope: Caller, app: UseCases, body: SandboxRequest) -> ServedThread:
    """Create a conversation of the caller that is a copy of this conversation up to one of its turns.

    Every reader of a conversation may copy it, and continue the copy like any fork: it makes no episode, and this
    conversation does not change. Without `pii:read`, personal data in the copy is replaced. It has at most the newest
    200 messages. The agent that answered the turn continues, without its workflow and handoff.
    """
    source = await get_readable_thread(app, scope, thread_id)
    child = await app.sandboxes.make(scope, source, body.message_id, is_answered=body.include_turn)
    return await serve_thread(app, scope, child)


@router.post(
    "/merge",
    summary="Merge a fork's answer",
    response_model_exclude_unset=True,
    responses=responses(
        "thread_led_by_parent not_a_fork nothing_to_merge handoff_in_progress approvals_waiting message_too_large "
        "thread_busy store_unavailable"
    ),
)
async def merge(
    thread_id: ThreadId, scope: Caller, app: UseCases, body: Annotated[MergeRequest | None, Body(title="Asked")] = None
) -> MessageAnswer:
    """Add this fork's last answer to the conversation from which it was forked, and return the added message.

    The answer becomes a turn of the parent that calls no model, with the fork's agent as its speaker and `source`
    `specialist`. A repeated request gets the same answer until the fork has a new answer. The body may be left out.
    """
    canonical = resolve_thread_ref(scope, thread_id).id
    return await wait_for_answer(app, scope, app.merges.merge(scope, canonical, seconds=TURN_SECONDS))
