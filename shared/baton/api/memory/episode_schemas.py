"""The shapes of episodes: served, searched and imported."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from baton.api.http.schemas import EXTERNAL_ID, NOT_BLANK, TIME, Asked
from baton.api.threads.record_schemas import ServedToolCallRecord
from baton.domain.memory.episode import Episode as EpisodeRecord
from baton.domain.memory.episode import EpisodePart, EpisodeRef, EpisodeStatus
from baton.domain.tenants.identity import MAX_MESSAGE_ID
from baton.domain.threads.thread import EndReason
from baton.domain.wire_model import THREAD_ID, TIMESTAMP, Timestamp, WireModel

EPISODE_ID = "0f2d5c1e-3b64-5c9e-8f0e-3a1c2f7f9f10"
FACT_ID = "fact_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c"


class EpisodeFact(WireModel):
    """A key fact of an episode."""

    id: str = Field(examples=[FACT_ID])
    text: str = Field(examples=["Ada lives in Bern."])
    on: date = Field(
        serialization_alias="date", description="The day that it is about, or was said on.", examples=["2026-03-14"]
    )
    message_ids: tuple[str, ...] = Field(description="The messages that it was taken from.", examples=[["m-1"]])
    superseded_at: Timestamp | None = Field(
        description="Since when a later fact contradicts it; null while it is valid.", examples=[None]
    )
    superseded_by: str | None = Field(description="The id of that fact.", examples=[None])


class ServedEpisode(WireModel):
    """A session that has ended."""

    id: str = Field(examples=[EPISODE_ID])
    thread_id: str = Field(examples=[THREAD_ID])
    number: int = Field(description="The number of the session in its conversation, from 1.", examples=[1])
    tenant_id: str = Field(examples=["acme"])
    user_id: str = Field(examples=["alice"])
    agent_ids: tuple[str, ...] = Field(description="The agents that took part.", examples=[["assistant"]])
    status: EpisodeStatus = Field(
        description="`complete` once it has been summarised and indexed as far as that is possible and wanted."
    )
    missing: tuple[EpisodePart, ...] = Field(
        description="The parts that could not be made yet; a later attempt makes them.", examples=[[]]
    )
    started_at: Timestamp | None = Field(description="The time of its first message.", examples=[TIMESTAMP])
    ended_at: Timestamp = Field(examples=[TIMESTAMP])
    end_reason: EndReason
    summary: str | None = Field(examples=["Ada moved to Bern and looked for a bank."])
    facts: list[EpisodeFact]
    message_count: int = Field(examples=[12])
    total_input_tokens: int = Field(examples=[412])
    total_output_tokens: int = Field(examples=[58])

    @classmethod
    def from_record(
        cls, tenant_id: str, user_id: str, ref: EpisodeRef, episode: EpisodeRecord | None, **more: Any
    ) -> Any:
        """Return the served form of a session; ``episode`` is None until it is stored."""
        return cls(
            id=ref.id,
            thread_id=ref.thread_id,
            number=ref.number,
            tenant_id=tenant_id,
            user_id=user_id,
            agent_ids=episode.agent_ids if episode is not None else (),
            status=episode.status if episode is not None else EpisodeStatus.PENDING,
            missing=episode.missing if episode is not None else tuple(EpisodePart),
            started_at=episode.started_at if episode is not None else None,
            ended_at=ref.ended_at,
            end_reason=ref.reason,
            summary=episode.summary if episode is not None else None,
            facts=[EpisodeFact.of(fact) for fact in episode.facts] if episode is not None else [],
            message_count=ref.end_ordinal - ref.first_ordinal,
            total_input_tokens=episode.usage.input_tokens if episode is not None else 0,
            total_output_tokens=episode.usage.output_tokens if episode is not None else 0,
            **more,
        )


class ServedEpisodeMessage(WireModel):
    """A message of an episode."""

    id: str = Field(examples=["m-1"])
    ordinal: int = Field(description="Its position in the conversation, from 0.", examples=[0])
    role: Literal["user", "assistant", "tool"]
    content: str = Field(examples=["Write to ada@example.com."])
    timestamp: Timestamp = Field(examples=[TIMESTAMP])
    agent_id: str | None = Field(examples=[None])
    contains_pii: bool = Field(description="Whether it contains personal data.")
    redacted_content: str | None = Field(
        description="The text without personal data, which is summarised and indexed; null without any.",
        examples=["Write to [email]."],
    )


class EpisodeWithMessages(ServedEpisode):
    """An episode with its messages and the agents' actions."""

    messages: list[ServedEpisodeMessage] = Field(description="In order. Pages go back in time.")
    tool_calls: list[ServedToolCallRecord] = Field(
        description="Those of the runs that begin with these messages; of many, the last."
    )
    next_cursor: str | None = Field(
        description="Pass it as `cursor` to get the messages before; null on the last page.", examples=[None]
    )


class SearchRequest(Asked):
    """A search in the caller's episodes."""

    # A misspelt "from" would otherwise widen the search without a word.
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "Where do I live?", "limit": 5, "from": "2026-03-01T00:00:00Z"}]},
    )

    query: str = Field(
        description="Words, or a question; not blank. Operators mean nothing.",
        examples=["Where do I live?"],
        json_schema_extra=NOT_BLANK,
    )
    limit: int = Field(default=10, ge=1, le=50, description="Episodes that are returned at most.")
    since: str | None = Field(
        default=None,
        alias="from",
        description="Only what was said, or is about a time, from then on (ISO 8601).",
        json_schema_extra=TIME,
    )
    until: str | None = Field(
        default=None, alias="to", description="Only what was before then.", json_schema_extra=TIME
    )


class EpisodeMatch(WireModel):
    """A message that matches."""

    message_id: str = Field(examples=["m-1"])
    ordinal: int = Field(examples=[0])
    text: str = Field(description="Without personal data.", examples=["I moved to Bern last week."])
    timestamp: Timestamp = Field(examples=[TIMESTAMP])
    score: float = Field(description="From 0 to 1; comparable between episodes.", examples=[0.83])


class ServedMatchedFact(WireModel):
    """A fact that matches."""

    id: str = Field(examples=[FACT_ID])
    text: str = Field(examples=["Ada lives in Bern."])
    on: date = Field(serialization_alias="date", examples=["2026-03-14"])
    score: float = Field(examples=[0.71])
    superseded_at: Timestamp | None = Field(examples=[None])
    superseded_by: str | None = Field(examples=[None])


class ServedFoundEpisode(WireModel):
    """An episode, and what of it matches."""

    episode_id: str = Field(examples=[EPISODE_ID])
    thread_id: str = Field(examples=[THREAD_ID])
    started_at: Timestamp = Field(examples=[TIMESTAMP])
    ended_at: Timestamp = Field(examples=[TIMESTAMP])
    summary: str | None = Field(description="The summary, if it matches.", examples=["Ada moved to Bern."])
    facts: list[ServedMatchedFact] = Field(description="Those that match, best first.")
    score: float = Field(description="From 0 to 1.", examples=[0.83])
    signals: dict[str, float] = Field(
        description="The best raw score of each ranking.", examples=[{"turn.words": 7.1, "turn.meaning": 0.62}]
    )
    matches: list[EpisodeMatch] = Field(description="Messages that match, best first; at most 20.")


class ImportedFeedback(Asked):
    """The user's feedback on an answer."""

    rating: Literal["up", "down"] = Field(examples=["up"])
    comment: str | None = Field(default=None, description="At most 2,000 characters.", examples=[None])
    updated_at: str | None = Field(
        default=None, description="The time of the message unless given.", examples=[None], json_schema_extra=TIME
    )


class SentImportedMessage(Asked):
    """A message from another system."""

    id: str | None = Field(
        default=None,
        description="Kept; unique in the session.",
        examples=["m-1"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_MESSAGE_ID},
    )
    role: str = Field(
        description="`user`, `assistant` or `tool`.",
        examples=["user"],
        json_schema_extra={"enum": ["user", "assistant", "tool"]},
    )
    content: str | Annotated[list[dict[str, Any]], Field(fail_fast=True)] = Field(
        description="Text, or content parts, of which the text is kept. A message without any is left out.",
        examples=["I moved to Bern last week."],
    )
    timestamp: str = Field(
        description="ISO 8601 with a time zone. Kept.", examples=["2025-06-02T09:30:00Z"], json_schema_extra=TIME
    )
    tool_name: str | None = Field(
        default=None, description="The name of the tool, for a tool's message.", examples=[None]
    )
    feedback: ImportedFeedback | None = Field(default=None, description="The feedback on an answer.", examples=[None])
    time_zone: str | None = Field(
        default=None, description="The user's time zone then, if not that of the session.", examples=[None]
    )


class ImportRequest(Asked):
    """A session from another system."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "sessionId": "crm-2025-0815",
                    "messages": [
                        {
                            "id": "m-1",
                            "role": "user",
                            "content": "I moved to Bern last week.",
                            "timestamp": "2025-06-02T09:30:00Z",
                        },
                        {"role": "assistant", "content": "Welcome to Bern!", "timestamp": "2025-06-02T09:30:04Z"},
                    ],
                }
            ]
        },
    )

    session_id: str = Field(description="A UUID, or any stable id of the other system.", json_schema_extra=EXTERNAL_ID)
    agent_id: str | None = Field(default=None, description="The main agent of the conversation.")
    title: str | None = Field(default=None, description="The conversation's title.", examples=["Moving to Bern"])
    messages: list[SentImportedMessage] = Field(
        fail_fast=True,
        description="In order, which is kept whatever their times; at most 5,000.",
        json_schema_extra={"minItems": 1, "maxItems": 5_000},
    )
    ended_at: str | None = Field(
        default=None, description="The time of the last message unless given.", json_schema_extra=TIME
    )
    time_zone: str | None = Field(
        default=None,
        description="IANA's name of the user's time zone then, whose days count; without it, the offsets of the times.",
        examples=["Europe/Vienna"],
    )


class ImportAnswer(WireModel):
    """The episode of an imported session."""

    episode_id: str = Field(examples=[EPISODE_ID])
    session_id: str = Field(examples=[THREAD_ID])
