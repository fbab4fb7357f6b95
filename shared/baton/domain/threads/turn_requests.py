"""The requests that start a turn: a message, decisions on interrupts, or an action; and the client's additions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from baton.domain.agents.agent_settings import WhileBusy
from baton.domain.desks.desk_session import Person, ReturnReason
from baton.domain.runs.interrupt import InterruptDecision, derive_decision_message_id
from baton.domain.schedules.run_source import RunSource
from baton.domain.tenants.identity import ThreadRef, derive_run_id
from baton.domain.threads.branches import BranchRequest
from baton.domain.threads.content import Content, derive_content_digest
from baton.domain.threads.message import StoredMessage


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool that runs in the user's application (AG-UI: ``tools`` of the run input). Its fields are untrusted."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments, of type object, with references within itself only."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A fact that the user's application adds (AG-UI: ``context`` of the run input). It is untrusted."""

    description: str
    value: str


@dataclass(frozen=True, slots=True)
class IncomingHandoff:
    """The data of another agent that hands a conversation over. Its fields are untrusted."""

    source_agent_id: str = ""
    reason: str = ""
    summary: str = ""
    recent: tuple[tuple[str, str], ...] = ()
    """Roles and texts of the latest messages of the other agent's conversation, in order."""


@dataclass(frozen=True, slots=True)
class ClientOffer:
    """The parts of a request besides its message. They are stored with the turn, so that a takeover has the same."""

    tools: tuple[ClientTool, ...] = ()
    """Names are unique, and none is that of a built-in tool."""
    context: tuple[ContextItem, ...] = ()
    results: tuple[InterruptDecision, ...] = ()
    """Results of calls for which the previous run waits, sent with a new message of the user."""
    parent_task_id: str | None = None
    """The task of another agent that an A2A message serves."""
    handoff: IncomingHandoff | None = None
    """The handoff of the calling agent; None if it does not hand over."""


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
    """The id of the message that began the A2A task to which it was sent; None without a task."""
    branch: BranchRequest | None = None
    """The branch that the message begins; None for a message that continues the conversation."""
    notifies: bool = False
    """True if its client requests notifications of that task."""
    client: ClientOffer | None = None
    """Tools and context that the user's application offers; None if it offers nothing."""
    time_zone: str | None = None
    """The user's time zone now; None if the client does not send it. A retry may have another zone."""
    while_busy: WhileBusy | None = None
    """The treatment that the sender requests while a run is in progress; None for the agent's."""
    over_spending: bool = False
    """True if the user requests the answer beyond a spending limit, which limits with ``ask`` permit."""
    begun_by: RunSource | None = None
    """The cause of a run that no message of the user begins."""
    original_digest: str | None = None
    """The digest of the client's request, if this request was rebuilt from words that a guardrail has replaced."""

    @property
    def is_plain(self) -> bool:
        """Whether the message only continues the conversation: no branch, task, event or result of a client's tool."""
        has_results = self.client is not None and bool(self.client.results)
        return self.branch is None and self.a2a_task is None and self.begun_by is None and not has_results

    @property
    def digest(self) -> str:
        """A digest that is the same for every retry. It covers the branch, so that a repeated id cannot begin one."""
        if self.original_digest is not None:
            return self.original_digest
        digest = derive_content_digest(self.content)
        if self.branch is None:
            return digest
        kind = "regenerate" if self.branch.is_regenerate else f"edit\0{digest}"
        return derive_content_digest(f"branch\0{self.branch.from_id}\0{kind}")


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
        run_id = run_id or derive_run_id(thread_id, derive_decision_message_id(decisions[0].interrupt_id))
        return cls(ThreadRef(thread_id, may_create=False), run_id, tuple(decisions), client)

    @property
    def message_id(self) -> str:
        """The message id of all decisions on the run's interrupts."""
        return derive_decision_message_id(self.decisions[0].interrupt_id)

    @property
    def digest(self) -> str:
        """A digest that is the same for every payload, so that a second decision counts as a repetition."""
        return derive_content_digest(self.message_id)


class ConversationAction(StrEnum):
    """An action on a conversation that a client requests without a message."""

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
"""The actions whose runs call no model. Their runs are never stopped or given up."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """An action. It starts a separate run."""

    thread: ThreadRef
    message_id: str
    run_id: str
    action: ConversationAction
    about: str | None = None
    """The object of the action: the id of the workflow to continue, ``<fork>/<answer>`` to merge, the desk to hand over
    to, or ``<reason>/<milliseconds>`` of a return, with the moment since which the reason has held."""
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
        """The reason of ``DESK_RETURN``. Raises ``ValueError`` for another action."""
        return ReturnReason((self.about or "").partition("/")[0])

    @property
    def source(self) -> str:
        """The action as text. The run's first message stores it, so that another worker can rebuild the request."""
        return self.action.value if self.about is None else f"{self.action.value}:{self.about}"

    @property
    def digest(self) -> str:
        """A digest of the action, its object and its content."""
        if not self.content:
            return derive_content_digest(self.source)
        return derive_content_digest(f"{self.source}\0{derive_content_digest(self.content)}")

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
