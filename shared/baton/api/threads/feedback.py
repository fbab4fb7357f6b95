"""Feedback: users rate answers."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path

from baton.api.http.dependencies import Caller, ThreadId, UseCases
from baton.api.http.problems import responses
from baton.api.threads.message_schemas import FeedbackRequest, RatedMessage
from baton.domain.tenants.identity import thread_ref
from baton.domain.threads.feedback import Rating, given_comment

router = APIRouter(prefix="/v1/threads/{thread_id}/messages/{message_id}/feedback", tags=["threads"])


async def _message_in_path(
    message_id: Annotated[
        str,
        Path(
            description="The answer's id, percent-encoded.",
            max_length=768,
            examples=["5d0ad1c6-d1b0-5f6c-8d0c-0f4a2b1e3d4c"],
        ),
    ],
) -> str:
    """Return the message id of a path."""
    return unquote(message_id)


MessageId = Annotated[str, Depends(_message_in_path)]


@router.post("", summary="Rate an answer", responses=responses("not_found store_unavailable"))
async def rate_answer(
    thread_id: ThreadId, message_id: MessageId, caller: Caller, app: UseCases, body: FeedbackRequest
) -> RatedMessage:
    """Keep the caller's thumbs up or down on an answer of one of the caller's own conversations, with a comment.

    It replaces earlier feedback on the same answer, and is in the list of messages. `none` withdraws it.
    """
    rating = Rating(body.rating) if body.rating != "none" else None
    comment = given_comment(body.comment)
    rated = await app.sessions.ratings.rate(caller, thread_ref(caller, thread_id).id, message_id, rating, comment)
    return RatedMessage.of(rated)
