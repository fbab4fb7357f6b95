"""The services of a dialogue."""

from __future__ import annotations

from dataclasses import dataclass

from baton.ports.threads.threads import ThreadStore
from baton.threads.handoffs.conversation_states import ConversationStates
from baton.threads.handoffs.forks import Forks


@dataclass(frozen=True, slots=True)
class DialogueServices:
    """The services that a dialogue uses to read threads, forks and workflows."""

    store: ThreadStore
    conversations: ConversationStates
    forks: Forks
