"""Notes for a model besides its agent's prompt: unavailable tools, unfinished workflows, the day."""

from __future__ import annotations

from baton.agents.tools.tool_set import ToolSet
from baton.agents.tools.workflow_notes import make_collected_note, make_workflow_note
from baton.domain.threads.message import Role
from baton.domain.threads.running_conversation import RunningConversation
from baton.domain.times import Today
from baton.memory.prompt.handoff_context import make_handoff_notes
from baton.memory.prompt.quoting import quote
from baton.ports.agents.chat_model import Prompt

REASONS_HEAD = "Why some of your tools cannot be used at the moment, as their servers may have said it, quoted:"
CONTINUING = "I would like to continue {workflow}."
"""The prompt in place of a user's message when a button continues a workflow. It is not stored."""


def make_today_note(today: Today) -> Prompt:
    """Return the note with today's date. A new day does not invalidate the cached prompt before it."""
    return Prompt(Role.SYSTEM, today.sentence)


def make_steady_notes(conversation: RunningConversation) -> list[Prompt]:
    """Return the notes that stay the same as long as the agent is active."""
    return make_handoff_notes(conversation.handoff) if conversation.handoff is not None else []


def make_changing_notes(conversation: RunningConversation, tools: ToolSet) -> list[Prompt]:
    """Return the notes that may change with every turn: the workflow's state and the tools that are missing.

    Instructions come first. The data of the workflow and the words of servers follow as context.
    """
    notes: list[Prompt] = []
    context: list[Prompt] = []
    if conversation.definition is not None and conversation.workflow is not None:
        notes.append(Prompt(Role.SYSTEM, make_workflow_note(conversation.definition, conversation.workflow)))
        collected = make_collected_note(conversation.definition, conversation.workflow)
        context += [Prompt(Role.CONTEXT, collected)] if collected is not None else []
    if tools.missing:
        missing = "; ".join(tools.origin for tools in tools.missing)
        reasons = [f"- {tools.origin}: {quote(tools.reason)}" for tools in tools.missing]
        limitation = (
            f"Some of your tools cannot be used at the moment: {missing}. Do without them. The user is told that you "
            "are limited: do not apologise for it."
        )
        notes.append(Prompt(Role.SYSTEM, limitation))
        context.append(Prompt(Role.CONTEXT, "\n".join([REASONS_HEAD, *reasons])))
    return [*notes, *context]
