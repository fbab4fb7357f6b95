"""The requests that start a turn: a message, decisions on interrupts, or an action; and additions to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from baton.domain.agents.agent_settings import WhileBusy
from baton.domain.desks.desk_session import Person, ReturnReason
from baton.domain.schedules.run_source import RunSource
from baton.domain.tenants.identity import ThreadRef, derive_run_id
from baton.domain.threads.branches import BranchRequest
from baton.domain.threads.content import content_digest
from baton.domain.threads.interrupt import InterruptDecision, decision_message_id
from baton.domain.threads.message import Content, StoredMessage


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
    """A user's message, or an event that begins a run like one."""

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
    while_busy: WhileBusy | None = None
    """The treatment that the sender asks for while a run is in progress; None for that of the agent."""
    over_spending: bool = False
    """True if the user wants the answer although a spending limit is reached, where the limits ask."""
    begun_by: RunSource | None = None
    """The cause of a run that no message of the user begins."""
    original_digest: str | None = None
    """The digest of the client's request, if this one is made again from words that a guardrail has put in place."""

    @property
    def is_plain(self) -> bool:
        """Whether the message only continues the conversation: no branch, task, event or result of a client's tool."""
        has_results = self.client is not None and bool(self.client.results)
        return self.branch is None and self.a2a_task is None and self.begun_by is None and not has_results

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
    DESK_ASK = "desk.ask"
    """Hand over to a desk, as the user asks."""
    DESK_TAKE = "desk.take"
    """Take a conversation that waits at a desk."""
    DESK_REPLY = "desk.reply"
    """Write to the user as a person of a desk."""
    DESK_NOTE = "desk.note"
    """Leave a note for people, and for the agent after the return."""
    DESK_RETURN = "desk.return"
    """Hand the conversation back to its main agent."""
    DESK_TRANSFER = "desk.transfer"
    """Hand the conversation to another desk."""


OF_PEOPLE = frozenset(
    {
        ConversationAction.DESK_TAKE,
        ConversationAction.DESK_REPLY,
        ConversationAction.DESK_NOTE,
        ConversationAction.DESK_RETURN,
        ConversationAction.DESK_TRANSFER,
    }
)
"""The actions of the people of a desk, and of Baton in their place."""
ASK_NO_MODEL = OF_PEOPLE | {ConversationAction.EXIT, ConversationAction.MERGE, ConversationAction.DESK_ASK}
"""The actions whose runs call no model. They are never stopped or given up."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """An action. It starts a separate run."""

    thread: ThreadRef
    message_id: str
    run_id: str
    action: ConversationAction
    about: str | None = None
    """The id of the workflow to continue, those of the fork and the answer to merge, ``fork/answer``, the desk to hand
    over to, or the reason of a return with the session that it ends, ``reason/milliseconds``."""
    content: Content = ""
    """The words of the person: a reply, or a note."""
    author: Person | None = None
    """The person of a desk who acts; None for actions of the user and of Baton."""
    client: ClassVar[ClientOffer | None] = None
    """None: the user's application offers nothing with an action."""
    time_zone: ClassVar[str | None] = None
    agent_id: ClassVar[str | None] = None

    @property
    def named_answer(self) -> tuple[str, str]:
        """The ids of the fork and of the answer to merge."""
        fork_thread_id, _, answer_id = (self.about or "").partition("/")
        return fork_thread_id, answer_id

    @property
    def return_reason(self) -> ReturnReason:
        """The reason of ``DESK_RETURN``."""
        return ReturnReason((self.about or "").partition("/")[0])

    @property
    def source(self) -> str:
        """The action as text. The run's first message stores it, so that another worker can rebuild the request."""
        return self.action.value if self.about is None else f"{self.action.value}:{self.about}"

    @property
    def digest(self) -> str:
        if not self.content:
            return content_digest(self.source)
        return content_digest(f"{self.source}\0{content_digest(self.content)}")

    @classmethod
    def from_opening(cls, thread: ThreadRef, run_id: str, opening: StoredMessage) -> ActionRequest | None:
        """Rebuild the request from the first message of its run. Returns None if its source names no action."""
        action, _, about = (opening.source or "").partition(":")
        if action not in set(ConversationAction):
            return None
        return cls(
            thread,
            opening.id,
            run_id,
            ConversationAction(action),
            about or None,
            content=opening.content,
            author=opening.author,
        )


TurnRequest = MessageRequest | DecisionRequest | ActionRequest
"""Any request that starts a turn."""
