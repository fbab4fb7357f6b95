"""The requests that start a turn: a message, decisions on interrupts, or an action; and additions to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from baton.domain.tenants.identity import ThreadRef, derive_run_id
from baton.domain.threads.branches import BranchRequest
from baton.domain.threads.content import content_digest
from baton.domain.threads.interrupt import InterruptDecision, decision_message_id
from baton.domain.threads.message import Content


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool that runs in the user's application (AG-UI: ``tools`` of the run input). All of it is untrusted."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments, of type object, with references within itself only."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """Something that the application shows or knows (AG-UI: ``context`` of the run input). It is untrusted."""

    description: str
    value: str


@dataclass(frozen=True, slots=True)
class IncomingHandoff:
    """The data that another agent sends when it hands a conversation over. All of it is untrusted."""

    source_agent_id: str = ""
    reason: str = ""
    summary: str = ""
    recent: tuple[tuple[str, str], ...] = ()
    """Roles and texts of the latest messages there, in order."""


@dataclass(frozen=True, slots=True)
class ClientOffer:
    """The parts of a request besides its message. They are kept with the turn, so that a takeover offers the same."""

    tools: tuple[ClientTool, ...] = ()
    """Names are unique, and none is that of a built-in tool."""
    context: tuple[ContextItem, ...] = ()
    results: tuple[InterruptDecision, ...] = ()
    """Results of calls that the previous run waits for, where the user has sent a message instead of waiting for it."""
    parent_task_id: str | None = None
    """The task of another agent that an A2A message serves."""
    handoff: IncomingHandoff | None = None
    """The handoff of the calling agent; None if it hands nothing over."""


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """A user's message."""

    __pydantic_config__: ClassVar = ConfigDict(alias_generator=to_camel)

    thread: ThreadRef
    message_id: str
    run_id: str
    content: Content
    agent_id: str | None = None
    a2a_task: str | None = None
    """The A2A task it was sent to, by the id of the message that began the task; None if it came another way."""
    branch: BranchRequest | None = None
    """The branch that the message begins; None for a message that continues the conversation."""
    notifies: bool = False
    """True if its client wants to be notified of that task."""
    client: ClientOffer | None = None
    """Tools and context that the user's application offers; None if it offers nothing."""
    time_zone: str | None = None
    """The user's time zone now; None if the client does not send it. A retry may come from another one."""
    original_digest: str | None = None
    """The digest of the client's request, if this one is made again from words that a guardrail has put in place."""

    @property
    def digest(self) -> str:
        """A digest that is the same for every retry. The branch counts, so that a repeated id never begins one."""
        if self.original_digest is not None:
            return self.original_digest
        digest = content_digest(self.content)
        if self.branch is None:
            return digest
        kind = "regenerate" if self.branch.is_regenerate else f"edit\0{digest}"
        return content_digest(f"branch\0{self.branch.from_id}\0{kind}")


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """A person's decisions on the interrupts of a run. They start the run that continues it."""

    thread: ThreadRef
    run_id: str
    decisions: tuple[InterruptDecision, ...]
    """At least one, all of the same run."""
    client: ClientOffer | None = None
    """Tools and context that the user's application offers now; None if the earlier ones still count."""
    time_zone: str | None = None
    """The user's time zone now; None if the client does not send it, or another user decides."""
    content: ClassVar[Content] = ""
    """Empty: the run starts with the result of a tool call, not with a user's words."""
    agent_id: ClassVar[str | None] = None

    @classmethod
    def of(
        cls,
        thread_id: str,
        decisions: Sequence[InterruptDecision],
        *,
        run_id: str | None = None,
        client: ClientOffer | None = None,
    ) -> DecisionRequest:
        """Return the request of ``decisions``; by default its run id is derived from their message id."""
        run_id = run_id or derive_run_id(thread_id, decision_message_id(decisions[0].interrupt_id))
        return cls(ThreadRef(thread_id, may_create=False), run_id, tuple(decisions), client)

    @property
    def message_id(self) -> str:
        return decision_message_id(self.decisions[0].interrupt_id)

    @property
    def digest(self) -> str:
        """A digest that is the same for every payload: a second decision on the interrupt is a repeated message."""
        return content_digest(self.message_id)


class ConversationAction(StrEnum):
    """A request of a client about a conversation, without a message."""

    EXIT = "exit"
    """End the handoff and return to the main agent."""
    CONTINUE = "continue"
    """Continue an unfinished workflow."""
    MERGE = "merge"
    """Copy an answer of a fork into its parent."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """An action. It starts a separate run."""

    thread: ThreadRef
    message_id: str
    run_id: str
    action: ConversationAction
    about: str | None = None
    """The id of the workflow to continue, or those of the fork and the answer to merge, ``fork/answer``."""
    client: ClassVar[ClientOffer | None] = None
    """None: the user's application offers nothing with an action."""
    time_zone: ClassVar[str | None] = None
    content: ClassVar[Content] = ""
    """Empty: an action carries no words."""
    agent_id: ClassVar[str | None] = None

    @property
    def named_answer(self) -> tuple[str, str]:
        """The ids of the fork and of the answer to merge."""
        fork_thread_id, _, answer_id = (self.about or "").partition("/")
        return fork_thread_id, answer_id

    @property
    def source(self) -> str:
        """The action as text. The run's first message stores it, so that another worker can rebuild the request."""
        return self.action.value if self.about is None else f"{self.action.value}:{self.about}"

    @property
    def digest(self) -> str:
        return content_digest(self.source)

    @classmethod
    def from_source(cls, thread: ThreadRef, message_id: str, run_id: str, source: str | None) -> ActionRequest | None:
        """Rebuild the request from its stored ``source``. Returns None if ``source`` names no action."""
        action, _, about = (source or "").partition(":")
        if action not in set(ConversationAction):
            return None
        return cls(thread, message_id, run_id, ConversationAction(action), about or None)


TurnRequest = MessageRequest | DecisionRequest | ActionRequest
"""Any request that starts a turn."""
