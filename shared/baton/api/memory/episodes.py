"""Routes that list, read, search and import episodes."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path

from baton.api.http.dependencies import Caller, Cursor, Limit, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing, check_query
from baton.api.memory.episode_schemas import (
    EPISODE_ID,
    EpisodeWithMessages,
    ImportAnswer,
    ImportRequest,
    SearchRequest,
    ServedEpisode,
    ServedEpisodeMessage,
    ServedFoundEpisode,
)
from baton.api.threads.record_schemas import ServedToolCallRecord
from baton.api.threads.threads import MAX_READS, PAGE_CHARACTERS
from baton.concurrency.tasks import gather_all
from baton.domain import errors
from baton.domain.cursors import decode_ordinal, encode_ordinal
from baton.domain.memory.episode import EpisodeMessage
from baton.threads.requests.parsing import parse_time
from baton.threads.requests.session_import import parse_imported_session

router = APIRouter(prefix="/v1/episodes", tags=["episodes"])

EpisodeId = Annotated[UUID, Path(description="The episode's id.", examples=[EPISODE_ID])]
MessageLimit = Annotated[int, query("Messages per page.", ge=1, le=500)]


@router.get("", summary="List episodes")
async def list_episodes(
    caller: Caller, app: UseCases, limit: Limit = 20, cursor: Cursor = None
) -> Listing[ServedEpisode]:
    """Return the caller's episodes, latest end first, without their messages.

    An episode is listed a moment after its session has ended.
    """
    episodes, next_cursor = await app.ports.episodes.of_user(caller, limit=limit, cursor=cursor)
    items = [ServedEpisode.from_record(caller.tenant_id, episode.user_id, episode.ref, episode) for episode in episodes]
    return Listing[ServedEpisode](items=items, next_cursor=next_cursor)


@router.get("/{episode_id:uuid}", summary="Read an episode", responses=responses("not_found"))
async def get_episode(
    episode_id: EpisodeId, caller: Caller, app: UseCases, limit: MessageLimit = 200, cursor: Cursor = None
) -> EpisodeWithMessages:
    """Return one of the caller's episodes with its last messages and the tool calls of their runs.

    An episode can be read as soon as its session has ended. Its `status` says whether it is complete.
    """
    top = decode_ordinal(cursor) if cursor else None
    ref = await app.ports.episodes.find(caller, str(episode_id))
    if ref is None:
        raise errors.NotFound("There is no such episode.")
    try:
        episode, thread = await gather_all(
            app.ports.episodes.get(caller, ref.thread_id, ref.number), app.ports.store.get_thread(caller, ref.thread_id)
        )
    except errors.ThreadUnavailable:
        raise errors.NotFound("There is no such episode.") from None
    if thread.user_id != caller.user_id or thread.episode <= ref.number:  # the session's end was not committed
        raise errors.NotFound("There is no such episode.")
    messages: list[EpisodeMessage] = []
    before = top
    for _ in range(MAX_READS):
        room = limit - len(messages)
        page, before = await app.memory.episode_messages.read_page(caller, thread, ref, before=before, limit=room)
        messages = [*page, *messages]
        if (
            before is None
            or len(messages) >= limit
            or sum(len(message.content) for message in messages) >= PAGE_CHARACTERS
        ):
            break
    path = ref.select_branch(thread).path.cut(
        ref.end_ordinal if top is None else min(top, ref.end_ordinal), ref.first_ordinal if before is None else before
    )
    calls = [
        call
        for first, end in path.ranges
        for call in await app.ports.records.calls_between(caller, thread.id, first_ordinal=first, end_ordinal=end)
    ]
    return EpisodeWithMessages.from_record(
        caller.tenant_id,
        caller.user_id,
        ref,
        episode,
        messages=[ServedEpisodeMessage.of(message) for message in messages],
        tool_calls=[ServedToolCallRecord.of(call) for call in calls],
        next_cursor=encode_ordinal(before) if before is not None else None,
    )


@router.post("/search", summary="Search episodes", responses=responses("search_unavailable"))
async def search_episodes(caller: Caller, app: UseCases, body: SearchRequest) -> Listing[ServedFoundEpisode]:
    """Return the caller's episodes that match best, by words and by meaning, with the messages and facts that match.

    Use `from` and `to` for questions about a time ("last week"). All results are on one page.
    """
    since = parse_time(body.since, "from") if body.since is not None else None
    until = parse_time(body.until, "to") if body.until is not None else None
    if since is not None and until is not None and since >= until:
        raise errors.InvalidRequest("from must be before to.")
    check_query(body.query)
    episodes = await app.memory.episode_search.search(caller, body.query, limit=body.limit, since=since, until=until)
    return Listing[ServedFoundEpisode](items=list(map(ServedFoundEpisode.of, episodes)), next_cursor=None)


@router.post(
    "/import",
    summary="Import a session",
    status_code=202,
    responses=responses(
        "unknown_agent thread_unavailable import_conflict message_too_large thread_busy store_unavailable"
    ),
)
async def import_session(caller: Caller, app: UseCases, body: ImportRequest) -> ImportAnswer:
    """Store a session from another system as a closed conversation, and start the closing of its episode.

    Messages keep their ids and times. A repeated request gets the same answer and changes nothing. Poll the episode's
    `status` until it is `complete`. A message to the conversation reopens it.
    """
    imported = parse_imported_session(caller, now=app.ports.clock.now(), **body.model_dump())
    ref = await app.sessions.importer.run(caller, imported)
    return ImportAnswer(episode_id=ref.id, session_id=ref.thread_id)
