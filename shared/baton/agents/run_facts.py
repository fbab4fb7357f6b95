"""The facts of a run, which all its steps share, and the request for the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.thread import Run, Thread
from baton.domain.threads.turn_requests import ASK_NO_MODEL, ActionRequest, ClientOffer, TurnRequest
from baton.memory.early_recall import EarlyRecall
from baton.ports.threads.turn_queue import HeldRecord
from baton.tenants.registry.registered_agents import RegisteredAgents
from baton.threads.outbox.outbox import Emit


@dataclass(frozen=True, slots=True)
class TurnCall:
    """One request to ``Turns``, with the means to send events to its caller."""

    scope: Scope
    """The user's scope, with the permissions at the time of the message."""
    request: TurnRequest
    emit: Emit
    deadline: float
    """Event loop time at which the turn must have ended."""
    subscriber: Subscriber | None = None
    gives_up: bool = False
    """True to end the run as interrupted, without an answer."""
    record: HeldRecord | None = None
    """The queue record of the request; None if it came over HTTP."""
    early: EarlyRecall | None = None
    """The memory search for the message, if it has begun before the run; otherwise None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The facts of a run or a dry run. A step that reads more facts returns a new value."""

    call: TurnCall
    """The request for which the run is carried out. It has no caller if its worker has died."""
    thread: Thread
    run: Run
    agents: RegisteredAgents
    """The tenant's agents at the time when the run began."""
    agent: AgentDefinition
    """The agent that is active when the run begins."""
    question: StoredMessage
    """The first message of the run: a message of the user, the result of a call, or the placeholder of an action."""
    answered: PendingInterrupts | None = None
    """The answered interrupts that the run continues; None for a new message or action."""
    client: ClientOffer | None = None
    """Tools and context that the user's application offers; None if it offers nothing."""
    client_results: PendingInterrupts | None = None
    """The interrupts of the previous run with the client's results in this message; None without results."""
    unfinished: Sequence[StoredMessage] = ()
    """The messages of the interrupted exchange that the run continues; empty if it continues none."""

    @property
    def scope(self) -> Scope:
        """The user's scope, with the permissions at the time of the message."""
        return self.call.scope

    @property
    def request(self) -> TurnRequest:
        return self.call.request

    @property
    def offered_by(self) -> str | None:
        """The message id of the turn whose client offer applies to a run that continues this one; None without one."""
        if self.request.client is not None:
            return self.run.message_id
        return self.answered.offered_by if self.answered is not None else None

    @property
    def first_of_exchange(self) -> int:
        """The ordinal of the user's message that the run answers."""
        return self.answered.first_ordinal if self.answered is not None else self.question.ordinal

    @property
    def began_with(self) -> StoredMessage:
        """The message with which the exchange began."""
        return self.unfinished[0] if self.unfinished else self.question

    @property
    def user_message(self) -> StoredMessage | None:
        """The user's message that the run answers; None without one."""
        messages = (self.question, *reversed(self.unfinished))
        return next((message for message in messages if message.is_question), None)

    @property
    def asks_no_model(self) -> bool:
        """True if the request is an action that calls no model. Such actions are never stopped or given up."""
        return isinstance(self.request, ActionRequest) and self.request.action in ASK_NO_MODEL
