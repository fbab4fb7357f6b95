"""System notes for a model besides its agent's prompt: unavailable tools, unfinished workflows."""

from __future__ import annotations

from collections.abc import Iterator

from baton.agents.tool_kit import ToolKit
from baton.agents.workflow_notes import workflow_note
from baton.domain.message import Role
from baton.domain.running_conversation import RunningConversation
from baton.memory.handoff_context import handoff_notes
from baton.ports.chat_model import Prompt

CONTINUING = "I would like to continue {workflow}."
"""The prompt in place of a user's message when a button continues a workflow. It is not stored."""


def notes_for(conversation: RunningConversation, kit: ToolKit) -> list[Prompt]:
    """Return the notes of the active agent, which follow the system prompt and the retrieved blocks."""
    return [*_notes(conversation, kit)]


def _notes(conversation: RunningConversation, kit: ToolKit) -> Iterator[Prompt]:
    if conversation.handoff is not None:
        yield from handoff_notes(conversation.handoff)
    if conversation.definition is not None and conversation.workflow is not None:
        yield Prompt(Role.SYSTEM, workflow_note(conversation.definition, conversation.workflow))
    if kit.missing:
        missing = "; ".join(f"{each.origin} ({each.reason})" for each in kit.missing)
        told = (
            f"Some of your tools cannot be used at the moment: {missing}. Do without them. The user is told that you "
            "are limited: do not apologise for it."
        )
        yield Prompt(Role.SYSTEM, told)
