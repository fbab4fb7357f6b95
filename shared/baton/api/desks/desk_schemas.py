"""Shapes of conversations at desks, and of the requests of the people there."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from baton.api.http.schemas import NOT_BLANK, Asked, Listing, describe
from baton.api.threads.message_schemas import PART
from baton.domain.agents.agent import AgentDefinition
from baton.domain.desks.desk_session import DeskStatus
from baton.domain.tenants.identity import MAX_MESSAGE_ID
from baton.domain.threads.message import MessageAuthor, StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.wire_model import THREAD_ID, TIMESTAMP, Timestamp, WireModel


class DeskItem(WireModel):
    """A conversation at a desk."""

    thread_id: str = Field(examples=[THREAD_ID])
    desk_id: str = Field(examples=["support"])
    status: DeskStatus
    since: Timestamp = describe("When it came to the desk.", TIMESTAMP)
    user_id: str = Field(examples=["alice"])
    user_name: str | None = describe("The user's name in their token; null without one.", "Alice")
    title: str | None = describe("The conversation's title; null without one.", "A refund")
    locale: str | None = describe(
        "The user's language: the claim `locale` of their token, or else the locale that their client sends.", "de-AT"
    )
    time_zone: str | None = describe("The user's time zone; null if it is unknown.", "Europe/Vienna")
    last_message: str = describe(
        "The beginning of the last message of the user or a person, or the names of its files.", "Is anybody there?"
    )
    unread: int = describe("Messages of the user that no person has answered.", 2)
    unanswered_since: Timestamp | None = describe(
        "The time since which the user has waited for an answer, even if `unread` is 0; null if they do not wait.",
        TIMESTAMP,
    )
    person: MessageAuthor | None = describe("The person who has taken the conversation; null while it waits.")
    last_seq: int = describe("Sequence number of the conversation's last event.", 17)
    typing: bool = Field(
        default=False,
        examples=[False],
        description="Whether the user is typing; known in `/v1/desk/events`, to the person who has taken it.",
    )

    @classmethod
    def from_record(cls, thread: Thread) -> DeskItem:
        """Return the served form of ``thread``, which is at a desk."""
        session = thread.conversation.desk
        assert session is not None  # noqa: S101 - callers have checked it
        return cls.of(
            session,
            thread_id=thread.id,
            desk_id=thread.active_agent_id,
            since=session.arrived_at,
            user_id=thread.user_id,
            title=thread.title,
            locale=session.user_locale,
            time_zone=thread.time_zone,
            last_seq=thread.last_seq,
            typing=False,
        )


class DeskListing(Listing[DeskItem]):
    """A page of the conversations at desks."""


class ServedDesk(WireModel):
    """A desk."""

    id: str = Field(examples=["support"])
    name: str = Field(examples=["Support team"])
    is_open: bool = Field(examples=[True])

    @classmethod
    def from_record(cls, agent: AgentDefinition, now: datetime) -> ServedDesk:
        """Return the served form of an agent that is a desk, at the time ``now``."""
        assert agent.desk is not None  # noqa: S101 - callers have checked it
        return cls(id=agent.id, name=agent.name, is_open=agent.desk.is_open(now))


class DeskListOfCaller(WireModel):
    """The desks that the caller answers."""

    items: list[ServedDesk]


class ServedNote(WireModel):
    """A note that a person has left."""

    id: str = Field(examples=["n-1"])
    text: str = Field(examples=["She has the receipt."])
    author: MessageAuthor
    created_at: Timestamp = describe("When it was left.", TIMESTAMP)

    @classmethod
    def from_record(cls, note: StoredMessage) -> ServedNote:
        """Return the served form of a note's message."""
        author = MessageAuthor.model_validate(note.author, from_attributes=True)
        return cls(id=note.id, text=note.text, author=author, created_at=note.timestamp)


class DeskCase(WireModel):
    """A conversation at a desk, with the details that its people need for an answer."""

    item: DeskItem
    reason: str = describe("The reason for the handoff.", "talk to a human")
    summary: str = describe("The agent's summary at the handoff; empty unless `context` is `summary`.", "")
    notes: list[ServedNote] = describe("The notes of the current session, the newest 100, oldest first.")
    desks: list[ServedDesk] = describe("The other desks, to which it can be transferred.")


class DraftRequest(Asked, extra="forbid"):
    """A draft for the main agent to write."""

    kind: Literal["reply", "summary"] = describe(
        "`reply`: the next message to the user; `summary`: of the conversation.", "reply"
    )
    instruction: str | None = describe(
        "Instructions for the draft, at most 2,000 characters.", "Offer a refund.", default=None
    )


class Draft(WireModel):
    """A draft, which nobody but the caller has seen."""

    text: str = Field(examples=["I am sorry about that. I have asked for the refund."])
    sources: list[dict[str, Any]] = describe("The documents that the model got, as in `metadata.sources`.", [])


class PersonMessageRequest(Asked, extra="forbid"):
    """A message of a person to the user."""

    message_id: str = describe(
        "The idempotency key: the same id again gets the same message.", "m-1", min_length=1, max_length=MAX_MESSAGE_ID
    )
    content: str | Annotated[list[dict[str, Any]], Field(fail_fast=True)] = describe(
        "Text, or AG-UI content parts.",
        "Hello, I am Anna.",
        json_schema_extra=NOT_BLANK | {"minItems": 1, "items": PART},
    )


class NoteRequest(Asked, extra="forbid"):
    """A note for people, and for the agent after the return."""

    message_id: str = describe("The idempotency key.", "n-1", min_length=1, max_length=MAX_MESSAGE_ID)
    text: str = describe("1 to 4,000 characters.", "She has the receipt.")


class ReturnRequest(Asked, extra="forbid"):
    """The return of a conversation to its main agent."""

    note: str | None = describe(
        "A note for the agent, 4,000 characters at most.", "The refund is on its way.", default=None
    )


class TransferRequest(Asked, extra="forbid"):
    """The transfer of a conversation to another desk."""

    desk_id: str = describe("The desk.", "billing", min_length=1, max_length=64)
    note: str | None = describe("A note for its people, 4,000 characters at most.", "Please check.", default=None)


class AskedDesk(Asked, extra="forbid"):
    """The desk that a user asks for."""

    desk_id: str | None = describe("Default: the first desk to which the agent hands over.", "support", default=None)
    locale: str | None = describe(
        "The user's language, which is used if the token has no claim `locale`.", "de-AT", default=None
    )


StatusFilter = Literal["waiting", "active", "mine", "all"]
