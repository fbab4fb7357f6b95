"""Conversations as regression tests, and doubles of the library's ports.

Tests in Python import from here; pytest's fixtures are in ``baton_project.pytest_plugin``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from baton.domain.agents.guardrail import Refuse
    from baton.ports.agents.tools import ToolFailed
    from baton_testing.actions import EventStep, Meanwhile, PersonStep
    from baton_testing.conversation_test import Case, ScriptedAnswer, ToolStub, User
    from baton_testing.observation import Called, Observation, Said
    from baton_testing.python_conversation import (
        Answer,
        Conversation,
        ConversationFailed,
        ConversationMaker,
        answer,
        call,
        failure,
    )

__all__ = [
    "Answer",
    "Called",
    "Case",
    "Conversation",
    "ConversationFailed",
    "ConversationMaker",
    "EventStep",
    "Meanwhile",
    "Observation",
    "PersonStep",
    "Refuse",
    "Said",
    "ScriptedAnswer",
    "ToolFailed",
    "ToolStub",
    "User",
    "answer",
    "call",
    "failure",
]

_MODULES = {
    "Called": "baton_testing.observation",
    "Case": "baton_testing.conversation_test",
    "EventStep": "baton_testing.actions",
    "Meanwhile": "baton_testing.actions",
    "Observation": "baton_testing.observation",
    "PersonStep": "baton_testing.actions",
    "Refuse": "baton.domain.agents.guardrail",
    "Said": "baton_testing.observation",
    "ScriptedAnswer": "baton_testing.conversation_test",
    "ToolFailed": "baton.ports.agents.tools",
    "ToolStub": "baton_testing.conversation_test",
    "User": "baton_testing.conversation_test",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "baton_testing.python_conversation")), name)
