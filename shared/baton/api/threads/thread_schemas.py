"""Shapes of conversations, and of requests that change or copy them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from baton.api.http.schemas import COST, Asked, ServedUsage, describe
from baton.domain.runs.interrupt import to_client_interrupts
from baton.domain.runs.usage import Prices
from baton.domain.threads.thread import RunStatus, Thread, ThreadStatus
from baton.domain.threads.thread_state import Describe, State, describe_thread_state
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, WORKFLOW_ID, Timestamp, WireModel


class ServedRun(WireModel):
    """The run in progress of a thread."""

    run_id: str = Field(examples=[RUN_ID])
    message_id: str = Field(examples=["m-1"])
    status: RunStatus
    attempt: int = Field(examples=[1])


class ServedThread(WireModel):
    """A conversation."""

    id: str = Field(examples=[THREAD_ID])
    title: str | None = describe(
        "The title, which is made after the first answer unless the user has set it; null before.", "Weekend in Lisbon"
    )
    user_id: str = Field(examples=["alice"])
    agent_id: str = Field(examples=["assistant"])
    parent_thread_id: str | None = Field(examples=[None])
    status: ThreadStatus
    state: State
    episode: int = describe("Number of the session, from 1.", 1, validation_alias="latest_episode")
    usage: ServedUsage
    cost: float | None = COST
    run: ServedRun | None
    interrupts: list[dict[str, Any]] = describe(
        "Open interrupts of AG-UI: approvals, and calls of the client's tools.", []
    )
    last_error: str | None = describe("The code of the last error with which a turn ended; null without one.", None)
    last_seq: int = describe("Sequence number of the thread's last event, including those of a run in progress.", 17)
    unread: int = describe("Answers that the user has not read.", 0)
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    last_activity_at: Timestamp = Field(examples=[TIMESTAMP])

    @classmethod
    def from_record(
        cls, describe: Describe, prices: Prices, thread: Thread, last_seq: int | None = None
    ) -> ServedThread:
        """Return the served form of ``thread``.

        ``last_seq`` is the sequence number of the last event of a run in progress; None for the thread's.
        """
        return cls.of(
            thread,
            state=describe_thread_state(describe, thread),
            cost=prices.compute_cost(thread.spent, thread.usage),
            interrupts=to_client_interrupts(thread.open_interrupts),
            last_seq=thread.last_seq if last_seq is None else last_seq,
        )


class RenameRequest(Asked, extra="forbid"):
    """A thread's new title."""

    title: str = describe("One line of 1 to 120 characters.", "Weekend in Lisbon")


class ReadRequest(Asked, extra="forbid"):
    """The place up to which the user has read a conversation."""

    ordinal: int = describe(
        "The `metadata.ordinal` of the last message that the user has read; a larger number means all.", 3, ge=0
    )


class CancelRequest(Asked):
    """A run to stop."""

    run_id: str | None = describe("Default: the run in progress.", RUN_ID, default=None)


class CancelAnswer(WireModel):
    """The run that will stop."""

    thread_id: str = Field(examples=[THREAD_ID])
    run_id: str | None = Field(examples=[RUN_ID])


class ContinueRequest(Asked):
    """A workflow to continue."""

    workflow_id: str = describe("The id of a workflow that `GET /v1/workflows` lists.", WORKFLOW_ID)


class ForkRequest(Asked):
    """The fork of a conversation to make."""

    agent_id: str = describe("The main agent of the new conversation.", "research", min_length=1, max_length=64)
    include_history_messages: int = describe(
        "The number of last messages with which the fork begins.", default=5, ge=0, le=200
    )


class SandboxRequest(Asked):
    """The turn up to which a conversation is copied."""

    message_id: str = describe("The user's message that began the turn.", "m-1", min_length=1, max_length=128)
    include_turn: bool = describe(
        "Whether the copy ends with this turn. Otherwise it ends before the turn's message.", default=True
    )


class ServedBranch(WireModel):
    """One of several messages of the user after the same message, with the messages that follow it."""

    branch_id: str = Field(examples=["b4"])
    message_id: str = describe("The user's message, which a regenerated branch repeats.", "m-2")
    after: str | None = describe("The message before it. Branches with the same `after` are alternatives.", "m-1")
    regenerate: bool = describe("Whether it answers the message of another branch again.", examples=[True])
    selected: bool = describe("Whether the conversation continues with it.", examples=[True])
    started_at: Timestamp = Field(examples=[TIMESTAMP])
    text: str = describe("The beginning of the message.", "What can you do?")


class SelectedBranch(WireModel):
    """The branch with which the conversation continues."""

    thread_id: str = Field(examples=[THREAD_ID])
    branch_id: str = Field(examples=["b4"])
    last_seq: int = describe("Sequence number of the thread's last event.", 24)


class MergeRequest(Asked):
    """An empty object, because a merge has no options."""


class CloseAnswer(WireModel):
    """The result of closing a conversation."""

    thread_id: str = Field(examples=[THREAD_ID])
    status: Literal[ThreadStatus.CLOSED]
    episode_id: str | None = Field(examples=["0f2d5c1e-3b64-5c9e-8f0e-3a1c2f7f9f10"])
