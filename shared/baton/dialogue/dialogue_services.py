"""The services that a dialogue uses besides those of its agents."""

from __future__ import annotations

from dataclasses import dataclass

from baton.handoffs.conversation_states import ConversationStates
from baton.handoffs.forks import Forks
from baton.ports.threads import ThreadStore


@dataclass(frozen=True, slots=True)
class DialogueServices:
    """The services that a dialogue uses to read threads, forks and workflows."""

    store: ThreadStore
    conversations: ConversationStates
    forks: Forks
