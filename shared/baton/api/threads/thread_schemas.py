"""Shapes of conversations, and of requests that change or copy them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from baton.api.http.schemas import COST, Asked, ServedUsage
from baton.domain.runs.usage import Prices
from baton.domain.threads.interrupt import shown_interrupts
from baton.domain.threads.thread import RunStatus, ThreadStatus
from baton.domain.threads.thread import Thread as ThreadRecord
from baton.domain.threads.thread_state import Describe, State, thread_state
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, WORKFLOW_ID, Timestamp, WireModel


class ServedRun(WireModel):
    """The run a thread is in the middle of."""

    run_id: str = Field(examples=[RUN_ID])
    message_id: str = Field(examples=["m-1"])
    status: RunStatus
    attempt: int = Field(examples=[1])


class ServedThread(WireModel):
    """A conversation."""

    id: str = Field(examples=[THREAD_ID])
    title: str | None = Field(
        description="Made after the first answer, unless the user gave one; null before.",
        examples=["Weekend in Lisbon"],
    )
    user_id: str = Field(examples=["alice"])
    agent_id: str = Field(examples=["assistant"])
    parent_thread_id: str | None = Field(examples=[None])
    status: ThreadStatus
    state: State
    episode: int = Field(validation_alias="latest_episode", description="Number of the session, from 1.", examples=[1])
    usage: ServedUsage
    cost: float | None = COST
    run: ServedRun | None
    interrupts: list[dict[str, Any]] = Field(
        description="Open interrupts as AG-UI has them: approvals, and results of the client's tools.", examples=[[]]
    )
    last_error: str | None = Field(
        description="The code of the last error that a turn has ended with; null if none has.", examples=[None]
    )
    last_seq: int = Field(
        description="Sequence number of the thread's last event, those of a run in progress included.", examples=[17]
    )
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    last_activity_at: Timestamp = Field(examples=[TIMESTAMP])

    @classmethod
    def from_record(
        cls, describe: Describe, prices: Prices, thread: ThreadRecord, last_seq: int | None = None
    ) -> ServedThread:
        """Return the served form of ``thread``; ``last_seq`` is that of a run in progress."""
        return cls.of(
            thread,
            state=thread_state(describe, thread),
            cost=prices.cost(thread.spent, thread.usage),
            interrupts=shown_interrupts(thread.open_interrupts),
            last_seq=thread.last_seq if last_seq is None else last_seq,
        )


class RenameRequest(Asked):
    """A thread's new title."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(description="One line of 1 to 120 characters.", examples=["Weekend in Lisbon"])


class CancelRequest(Asked):
    """A run to stop."""

    run_id: str | None = Field(default=None, description="Absent: the run in progress.", examples=[RUN_ID])


class CancelAnswer(WireModel):
    """The run that will stop."""

    thread_id: str = Field(examples=[THREAD_ID])
    run_id: str | None = Field(examples=[RUN_ID])


class ContinueRequest(Asked):
    """A workflow to continue."""

    workflow_id: str = Field(description="The id of a workflow that `GET /v1/workflows` lists.", examples=[WORKFLOW_ID])


class ForkRequest(Asked):
    """A fork to make of a conversation."""

    agent_id: str = Field(
        min_length=1, max_length=64, description="The main agent of the new conversation.", examples=["research"]
    )
    include_history_messages: int = Field(
        default=5, ge=0, le=200, description="The number of last messages that it begins with."
    )


class SandboxRequest(Asked):
    """The turn up to which a conversation is copied."""

    message_id: str = Field(
        min_length=1, max_length=128, description="The user's message that began the turn.", examples=["m-1"]
    )
    include_turn: bool = Field(
        default=True, description="Whether the copy ends with this turn, or before its message, to ask it again."
    )


class ServedBranch(WireModel):
    """One of several messages of the user's that continue from the same message, and what followed it."""

    branch_id: str = Field(examples=["b4"])
    message_id: str = Field(description="The user's message, which a regenerated branch repeats.", examples=["m-2"])
    after: str | None = Field(
        description="The last message before it. Branches with the same one are alternatives.", examples=["m-1"]
    )
    regenerate: bool = Field(description="Whether it answers the message of another branch again.", examples=[True])
    selected: bool = Field(description="Whether the conversation goes on with it.", examples=[True])
    started_at: Timestamp = Field(examples=[TIMESTAMP])
    text: str = Field(description="The beginning of the message.", examples=["What can you do?"])


class SelectedBranch(WireModel):
    """The branch that the conversation continues with."""

    thread_id: str = Field(examples=[THREAD_ID])
    branch_id: str = Field(examples=["b4"])
    last_seq: int = Field(description="Sequence number of the thread's last event.", examples=[24])


class MergeRequest(Asked):
    """An empty object: there is nothing to choose."""


class CloseAnswer(WireModel):
    """The result of closing a conversation."""

    thread_id: str = Field(examples=[THREAD_ID])
    status: Literal[ThreadStatus.CLOSED]
    episode_id: str | None = Field(examples=["0f2d5c1e-3b64-5c9e-8f0e-3a1c2f7f9f10"])
