"""The shapes of episodes, of searches in them, and of imported sessions."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from baton.api.http.schemas import AUTHOR, EXTERNAL_ID, NOT_BLANK, TIME, Asked, describe
from baton.api.threads.record_schemas import ServedToolCallRecord
from baton.domain.memory.episode import Episode, EpisodePart, EpisodeRef, EpisodeStatus
from baton.domain.schedules.run_source import CauseKind
from baton.domain.tenants.identity import MAX_MESSAGE_ID, MAX_USER_ID, MAX_USER_NAME
from baton.domain.threads.message import MessageAuthor
from baton.domain.threads.thread import EndReason
from baton.domain.wire_model import THREAD_ID, TIMESTAMP, Timestamp, WireModel

EPISODE_ID = "0f2d5c1e-3b64-5c9e-8f0e-3a1c2f7f9f10"
FACT_ID = "fact_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c"


class EpisodeFact(WireModel):
    """A key fact of an episode."""

    id: str = Field(examples=[FACT_ID])
    text: str = Field(examples=["Ada lives in Bern."])
    on: date = describe(
        "The day to which the fact refers, or on which it was said.", "2026-03-14", serialization_alias="date"
    )
    message_ids: tuple[str, ...] = describe("The messages from which it was taken.", ["m-1"])
    superseded_at: Timestamp | None = describe(
        "The time since which a later fact has contradicted it; null while it is valid.", None
    )
    superseded_by: str | None = describe("The id of the later fact; null while it is valid.", None)


class ServedEpisode(WireModel):
    """A session that has ended."""

    id: str = Field(examples=[EPISODE_ID])
    thread_id: str = Field(examples=[THREAD_ID])
    number: int = describe("The number of the session in its conversation, from 1.", 1)
    tenant_id: str = Field(examples=["acme"])
    user_id: str = Field(examples=["alice"])
    agent_ids: tuple[str, ...] = describe("The agents that took part.", ["assistant"])
    status: EpisodeStatus = describe(
        "`complete` once it has been summarised and indexed, as far as possible and configured."
    )
    missing: tuple[EpisodePart, ...] = describe("The parts that could not be made yet; a later attempt makes them.", [])
    started_at: Timestamp | None = describe("The time of its first message.", TIMESTAMP)
    ended_at: Timestamp = Field(examples=[TIMESTAMP])
    end_reason: EndReason
    summary: str | None = Field(examples=["Ada moved to Bern and looked for a bank."])
    facts: list[EpisodeFact]
    message_count: int = Field(examples=[12])
    total_input_tokens: int = Field(examples=[412])
    total_output_tokens: int = Field(examples=[58])

    @classmethod
    def from_record(cls, tenant_id: str, user_id: str, ref: EpisodeRef, episode: Episode | None, **more: Any) -> Self:
        """Return the served form of the session ``ref``. ``episode`` is None until it is stored."""
        about = _NOT_STORED
        if episode is not None:
            about = {name: getattr(episode, name) for name in _NOT_STORED if hasattr(episode, name)}
            about["total_input_tokens"] = episode.usage.input_tokens
            about["total_output_tokens"] = episode.usage.output_tokens
        messages = ref.end_ordinal - ref.first_ordinal
        owner = {"tenant_id": tenant_id, "user_id": user_id}
        return cls.of(ref, end_reason=ref.reason, message_count=messages, **owner, **about, **more)


_NOT_STORED: dict[str, Any] = {
    "agent_ids": (),
    "status": EpisodeStatus.PENDING,
    "missing": tuple(EpisodePart),
    "started_at": None,
    "summary": None,
    "facts": (),
    "total_input_tokens": 0,
    "total_output_tokens": 0,
}
"""The values that are served until the episode is stored."""


class ServedEpisodeMessage(WireModel):
    """A message of an episode."""

    id: str = Field(examples=["m-1"])
    ordinal: int = describe("Its position in the conversation, from 0.", 0)
    role: Literal["user", "assistant", "tool", "event"] = describe(
        "`event`: the cause of a turn that no message of the user has begun.", "user", validation_alias="shown_role"
    )
    content: str = Field(examples=["Write to ada@example.com."])
    timestamp: Timestamp = Field(examples=[TIMESTAMP])
    agent_id: str | None = Field(examples=[None])
    author: MessageAuthor | None = AUTHOR
    contains_pii: bool = describe("Whether it contains personal data.")
    redacted_content: str | None = describe(
        "The text without personal data, which is summarised and indexed; null without any.", "Write to [email]."
    )


class EpisodeWithMessages(ServedEpisode):
    """An episode with its messages and the agents' actions."""

    messages: list[ServedEpisodeMessage] = describe("In order. Pages go back in time.")
    tool_calls: list[ServedToolCallRecord] = describe(
        "The calls of the runs that begin with these messages; only the last calls if there are many."
    )
    next_cursor: str | None = describe("The `cursor` of the earlier messages; null on the last page.", None)


# Unknown fields are forbidden, because a misspelt "from" would widen the search without an error.
class SearchRequest(
    Asked,
    extra="forbid",
    json_schema_extra={"examples": [{"query": "Where do I live?", "limit": 5, "from": "2026-03-01T00:00:00Z"}]},
):
    """A search in the caller's episodes."""

    query: str = describe(
        "Words or a question; not blank. Search operators have no meaning.",
        "Where do I live?",
        json_schema_extra=NOT_BLANK,
    )
    limit: int = describe("The most episodes to return.", default=10, ge=1, le=50)
    since: str | None = describe(
        "Only messages that were sent, and facts that refer to a day, from this time on (ISO 8601).",
        default=None,
        alias="from",
        json_schema_extra=TIME,
    )
    until: str | None = describe(
        "Only messages and facts from before this time.", default=None, alias="to", json_schema_extra=TIME
    )


class EpisodeMatch(WireModel):
    """A message that matches."""

    message_id: str = Field(examples=["m-1"])
    ordinal: int = Field(examples=[0])
    text: str = describe("Without personal data.", "I moved to Bern last week.")
    timestamp: Timestamp = Field(examples=[TIMESTAMP])
    score: float = describe("From 0 to 1; comparable between episodes.", 0.83)
    author: MessageAuthor | None = AUTHOR


class ServedMatchedFact(WireModel):
    """A fact that matches."""

    id: str = Field(examples=[FACT_ID])
    text: str = Field(examples=["Ada lives in Bern."])
    on: date = Field(serialization_alias="date", examples=["2026-03-14"])
    score: float = Field(examples=[0.71])
    superseded_at: Timestamp | None = Field(examples=[None])
    superseded_by: str | None = Field(examples=[None])


class ServedFoundEpisode(WireModel):
    """An episode with its matching parts."""

    episode_id: str = Field(examples=[EPISODE_ID])
    thread_id: str = Field(examples=[THREAD_ID])
    started_at: Timestamp = Field(examples=[TIMESTAMP])
    ended_at: Timestamp = Field(examples=[TIMESTAMP])
    summary: str | None = describe("The summary, if it matches.", "Ada moved to Bern.")
    facts: list[ServedMatchedFact] = describe("Facts that match, best first.")
    score: float = describe("From 0 to 1.", 0.83)
    signals: dict[str, float] = describe(
        "The best raw score of each ranking.", {"turn.words": 7.1, "turn.meaning": 0.62}
    )
    matches: list[EpisodeMatch] = describe("Messages that match, best first; at most 20.")


class ImportedFeedback(Asked):
    """The user's feedback on an answer."""

    rating: Literal["up", "down"] = Field(examples=["up"])
    comment: str | None = describe("At most 2,000 characters.", None, default=None)
    updated_at: str | None = describe(
        "The time of the message unless given.", None, default=None, json_schema_extra=TIME
    )


class SentAuthor(Asked):
    """The person who wrote a message in an agent's place."""

    kind: Literal["person"] = "person"
    id: str = describe("Their id.", "anna", json_schema_extra={"minLength": 1, "maxLength": MAX_USER_ID})
    name: str = describe("Their name.", "Anna", json_schema_extra={"minLength": 1, "maxLength": MAX_USER_NAME})


class SentCause(Asked):
    """The cause of a turn that no message of the user has begun."""

    kind: str = describe(
        "The kind of the cause.", "schedule", json_schema_extra={"enum": [kind.value for kind in CauseKind]}
    )
    id: str = describe("The id of the schedule, the event or the task.", "water-the-plants")
    type: str | None = describe("The type of an event.", None, default=None)
    late: int | None = describe("Seconds by which the turn began late.", None, default=None, ge=0)


class SentImportedMessage(Asked):
    """A message from another system."""

    id: str | None = describe(
        "The message's id, which is kept. It must be unique in the session.",
        "m-1",
        default=None,
        json_schema_extra={"minLength": 1, "maxLength": MAX_MESSAGE_ID},
    )
    role: str = describe(
        "`event`: the cause of a turn that no message of the user has begun; it needs a `source`.",
        "user",
        json_schema_extra={"enum": ["user", "assistant", "tool", "event"]},
    )
    content: str | Annotated[list[dict[str, Any]], Field(fail_fast=True)] = describe(
        "Text or content parts. Only the text is kept, and a message without text is left out.",
        "I moved to Bern last week.",
    )
    timestamp: str = describe(
        "The message's time, which is kept: ISO 8601 with a time zone.", "2025-06-02T09:30:00Z", json_schema_extra=TIME
    )
    tool_name: str | None = describe("The name of the tool, for a tool's message.", None, default=None)
    feedback: ImportedFeedback | None = describe("The feedback on an answer.", None, default=None)
    time_zone: str | None = describe("The user's time zone, if it differs from the session's.", None, default=None)
    author: SentAuthor | None = describe("The person who wrote an answer in an agent's place.", None, default=None)
    source: SentCause | None = describe(
        "The cause of a turn that no message of the user has begun.", None, default=None
    )


SESSION = {
    "sessionId": "crm-2025-0815",
    "messages": [
        {"id": "m-1", "role": "user", "content": "I moved to Bern last week.", "timestamp": "2025-06-02T09:30:00Z"},
        {"role": "assistant", "content": "Welcome to Bern!", "timestamp": "2025-06-02T09:30:04Z"},
    ],
}


class ImportRequest(Asked, extra="forbid", json_schema_extra={"examples": [SESSION]}):
    """A session from another system."""

    session_id: str = describe("A UUID, or any stable id of the other system.", json_schema_extra=EXTERNAL_ID)
    agent_id: str | None = describe("The main agent of the conversation.", default=None)
    title: str | None = describe("The conversation's title.", "Moving to Bern", default=None)
    messages: list[SentImportedMessage] = describe(
        "In order, at most 5,000. The order is kept even if the times are in another order.",
        fail_fast=True,
        json_schema_extra={"minItems": 1, "maxItems": 5_000},
    )
    ended_at: str | None = describe("The time of the last message unless given.", default=None, json_schema_extra=TIME)
    time_zone: str | None = describe(
        "The IANA name of the user's time zone. By default, days are computed with the offsets of the times.",
        "Europe/Vienna",
        default=None,
    )


class ImportAnswer(WireModel):
    """The episode of an imported session."""

    episode_id: str = Field(examples=[EPISODE_ID])
    session_id: str = Field(examples=[THREAD_ID])
