"""What a run's dialogue begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baton.agents.run_context import RunContext
from baton.agents.transcript import Transcript
from baton.dialogue.dialogue_services import DialogueServices
from baton.domain.agent import AgentDefinition
from baton.domain.interrupt import PendingInterrupts
from baton.domain.message import OutcomeType, Role, StoredMessage
from baton.domain.skill import Skill
from baton.domain.thread import Thread
from baton.handoffs.conversation_tracker import ConversationTracker
from baton.requests.turn_requests import ActionRequest, ConversationAction, TurnRequest


@dataclass(frozen=True, slots=True)
class DialogueStep:
    """Everything needed to answer what was asked."""

    context: RunContext
    services: DialogueServices
    thread: Thread
    agent: AgentDefinition
    """The one that is active when the run begins."""
    tracker: ConversationTracker
    """Holds the conversation state."""
    request: TurnRequest
    opening: StoredMessage
    """The first message of the run: the user's, the result of a call that had waited, or what an action begins with."""
    history: Sequence[StoredMessage]
    """The messages before what is being answered."""
    unfinished: Sequence[StoredMessage]
    """The exchange that was interrupted, where the run goes on with one."""
    transcript: Transcript
    skills: Sequence[Skill]
    """What the main agent's users have taught it."""
    answered: PendingInterrupts | None
    """What the run goes on with, all of it answered; None: it answers a user's message, or carries out an action."""
    previous_seq: int | None
    """Where the jump in the sequence begins that a worker's death has left; None: there is none."""
    ends_at_once_as: OutcomeType | None = None
    """ERROR if the run is given up, CANCELLED if it was cancelled while it waited; None: it is answered."""

    @property
    def asks_no_model(self) -> bool:
        """Whether it leaves the specialist or merges a fork: that asks no model and is never stopped or given up."""
        actions = (ConversationAction.EXIT, ConversationAction.MERGE)
        return isinstance(self.request, ActionRequest) and self.request.action in actions

    @property
    def asked(self) -> StoredMessage | None:
        """The user's message that all this answers; None: it was asked for without one."""
        messages = (*self.unfinished, self.opening)
        return next((message for message in reversed(messages) if message.role is Role.USER), None)
