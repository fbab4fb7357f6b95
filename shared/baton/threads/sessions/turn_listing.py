"""The turns of a thread, read from its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from baton.domain.desks.desk_session import Person
from baton.domain.runs.usage import ModelUsage, Usage
from baton.domain.schedules.run_source import CauseKind
from baton.domain.tenants.identity import Scope
from baton.domain.threads.feedback import Feedback
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.ports.threads.messages import FeedbackStore
from baton.ports.threads.threads import ThreadStore

PAGE = 100
"""The number of messages in a page."""
MAX_READS = 10
"""Reads of messages after which a page of turns ends with the next whole turn."""


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """One turn, with its times, its agent and its end."""

    run_id: str
    message_id: str
    attempt: int
    status: str
    """``running`` or ``interrupted`` while it is in progress, otherwise its outcome."""
    agent_id: str | None
    """The agent that spoke last."""
    started_at: datetime | None
    ended_at: datetime | None
    usage: Usage
    versions: Mapping[str, int] = field(default_factory=dict)
    """The version of that agent, or of all agents of the turn if none spoke. Agents that ship have no version."""
    model: str | None = None
    """The model of the agent that spoke last."""
    first_token_ms: int | None = None
    """Milliseconds from the message to the first word of the answer; None if there is none."""
    error_code: str | None = None
    spent: tuple[ModelUsage, ...] = ()
    """The usage of each model, as far as it is known."""
    feedback: tuple[Feedback, ...] = ()
    """The user's feedback on the turn's answers."""
    trace_id: str | None = None
    """The id of the turn's trace; None if there is none."""
    author: Person | None = None
    """The person of a desk who opened the turn with a message or a note; None for other turns."""
    opened_by: CauseKind | None = None
    """The kind of its cause if the turn began by itself; None for other turns, and while it is in progress."""


async def read_turns(
    store: ThreadStore,
    feedback: FeedbackStore | None,
    scope: Scope,
    thread: Thread,
    *,
    limit: int,
    before: int | None,
    max_reads: int = MAX_READS,
) -> tuple[list[TurnSummary], int | None]:
    """Return a page of the thread's turns, newest first, and the ``before`` of the next page, None on the last.

    The first page begins with the run in progress. A page may have fewer turns than ``limit``, or none, and still be
    followed by another, because copied messages of a fork belong to none of its turns. Without ``feedback`` the turns
    have none.
    """
    summaries = [_summarise_running(thread)] if before is None and thread.run is not None else []
    if len(summaries) >= limit:
        return summaries, thread.next_ordinal or None
    run: list[StoredMessage] = []
    feedback_by_ordinal: dict[int, Feedback] = {}
    position, reads = before, 0
    while True:
        page = await store.read_messages(scope, thread, limit=PAGE, before=position)
        reads += 1
        if page.messages and feedback is not None:
            end = page.messages[-1].ordinal + 1
            for rating in await feedback.between(scope, thread, page.messages[0].ordinal, end):
                feedback_by_ordinal[rating.ordinal] = rating
        for message in reversed(page.messages):
            if run and message.run_id != run[-1].run_id:
                summaries += _summarise_ended(run, feedback_by_ordinal)
                if len(summaries) >= limit or reads > max_reads:
                    return summaries, run[-1].ordinal
                run = []
            run.append(message)
        position = page.next_before
        if position is None:
            return [*summaries, *_summarise_ended(run, feedback_by_ordinal)], None


def _summarise_ended(run: Sequence[StoredMessage], feedback_by_ordinal: Mapping[int, Feedback]) -> list[TurnSummary]:
    """Return the turn of a run's messages, newest first; nothing if they were copied from another thread."""
    if not run or run[0].end is None:
        return []
    last, first, end = run[0], run[-1], run[0].end
    return [
        TurnSummary(
            run_id=last.run_id,
            message_id=first.id,
            attempt=last.attempt,
            status=end.outcome.value,
            agent_id=last.agent_id,
            started_at=first.timestamp,
            ended_at=last.timestamp,
            usage=end.usage,
            versions={
                agent_id: number for agent_id, number in end.versions.items() if last.agent_id in (agent_id, None)
            },
            model=end.model,
            first_token_ms=end.first_token_ms,
            error_code=end.error_code,
            spent=end.by_model,
            trace_id=end.trace_id,
            author=first.author,
            opened_by=first.begun_by.kind if first.begun_by is not None else None,
            feedback=tuple(
                feedback_by_ordinal[message.ordinal]
                for message in reversed(run)
                if message.ordinal in feedback_by_ordinal
            ),
        )
    ]


def _summarise_running(thread: Thread) -> TurnSummary:
    run = thread.run
    assert run is not None  # noqa: S101 - the caller has checked
    return TurnSummary(
        run_id=run.run_id,
        message_id=run.message_id,
        attempt=run.attempt,
        status=run.status.value,
        agent_id=thread.active_agent_id,
        started_at=None,
        ended_at=None,
        usage=Usage(),
    )
