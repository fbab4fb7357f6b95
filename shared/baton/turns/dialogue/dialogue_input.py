"""The input of a run's dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baton.agents.attempt_context import AttemptContext
from baton.agents.calls.tool_calls import Consult
from baton.agents.transcript import Transcript
from baton.domain.agents.agent import AgentDefinition
from baton.domain.threads.client_offer import ClientOffer
from baton.domain.threads.interrupt import PendingInterrupts
from baton.domain.threads.message import OutcomeType, Role, StoredMessage
from baton.domain.threads.thread import Thread
from baton.memory.prompt.history_reading import ReadHistory
from baton.memory.recalled import MemorySearch
from baton.ports.threads.threads import ThreadStore
from baton.threads.handoffs.conversation_states import ConversationStates, ConversationTracker
from baton.threads.handoffs.forks import Forks
from baton.threads.requests.turn_requests import ActionRequest, ConversationAction, TurnRequest


@dataclass(frozen=True, slots=True)
class DialogueServices:
    """The services that a dialogue uses to read threads, forks and workflows."""

    store: ThreadStore
    conversations: ConversationStates
    forks: Forks


@dataclass(frozen=True, slots=True)
class DialogueInput:
    """Everything that a dialogue needs to answer a request."""

    context: AttemptContext
    services: DialogueServices
    thread: Thread
    agent: AgentDefinition
    """The agent that is active when the run begins."""
    tracker: ConversationTracker
    """The tracker of the conversation state."""
    request: TurnRequest
    opening: StoredMessage
    """The first message of the run: the user's, the result of a call that waited, or the placeholder of an action."""
    history: ReadHistory
    """The messages before the question that the active agent's prompt may hold."""
    unfinished: Sequence[StoredMessage]
    """The interrupted exchange that the run continues; empty if there is none."""
    transcript: Transcript
    search: MemorySearch
    """The search of memory for the message, done for ``agent``."""
    answered: PendingInterrupts | None
    """The answered interrupts that the run continues; None if it answers a message or carries out an action."""
    previous_seq: int | None
    """The sequence number before the gap that a dead worker has left; None if there is no gap."""
    client: ClientOffer | None = None
    """The offer of the user's application; None if it offers nothing."""
    client_results: PendingInterrupts | None = None
    """The interrupts of the previous run, with the results that came with this message; None if none came."""
    consult: Consult | None = None
    """The source of answers in place of agents that are consulted; None: they are asked themselves."""
    ends_at_once_as: OutcomeType | None = None
    """ERROR if the run is given up, CANCELLED if it was cancelled while it waited; None if it is answered."""

    @property
    def asks_no_model(self) -> bool:
        """True if the request is an exit or a merge. These call no model and are never stopped or given up."""
        actions = (ConversationAction.EXIT, ConversationAction.MERGE)
        return isinstance(self.request, ActionRequest) and self.request.action in actions

    @property
    def asked(self) -> StoredMessage | None:
        """The user's message that the run answers; None if there is none."""
        messages = (*self.unfinished, self.opening)
        return next((message for message in reversed(messages) if message.role is Role.USER), None)
