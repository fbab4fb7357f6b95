"""System notes for a model besides its agent's prompt: unavailable tools, unfinished workflows, skills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from baton.agents.tool_kit import ToolKit
from baton.agents.workflow_notes import workflow_note
from baton.domain.message import Role
from baton.domain.running_conversation import RunningConversation
from baton.domain.skill import Skill, matched
from baton.domain.skill_markdown import numbered_steps
from baton.memory.context import prompt_tokens
from baton.memory.handoff_context import handoff_notes
from baton.ports.chat_model import Prompt
from baton.ports.token_counter import TokenCounter

CONTINUING = "I would like to continue {workflow}."
"""The prompt in place of a user's message when a button continues a workflow. It is not stored."""
MAX_SKILL_TOKENS = 4_000
"""Tokens of all skills' steps together. A skill that does not fit is left out."""
MAX_SKILLS = 3
"""Skills in the prompt of one message."""


Followed = Sequence[tuple[Skill, str]]
"""Skills that a message matches, each with the trigger."""


def followed_skills(conversation: RunningConversation, skills: Sequence[Skill], text: str) -> Followed:
    """The skills by which the active agent answers ``text``; only the main agent follows skills."""
    return matched(skills, text)[:MAX_SKILLS] if conversation.handoff is None else ()


def notes_for(
    conversation: RunningConversation, kit: ToolKit, followed: Followed, counter: TokenCounter
) -> list[Prompt]:
    """Return the notes after the system prompt of the active agent."""
    return [*_notes(conversation, kit, followed, counter)]


def _notes(
    conversation: RunningConversation, kit: ToolKit, followed: Followed, counter: TokenCounter
) -> Iterator[Prompt]:
    if conversation.handoff is None:
        room = MAX_SKILL_TOKENS
        for skill, trigger in followed:
            note = Prompt(Role.SYSTEM, _steps(skill, trigger))
            needed = prompt_tokens(note, counter)
            if needed <= room:
                room -= needed
                yield note
    else:
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


def _steps(skill: Skill, trigger: str) -> str:
    draft = skill.draft
    tools = f"\nTools for it: {', '.join(draft.allowed_tools)}." if draft.allowed_tools else ""
    return (
        f"The message matches the skill {draft.name!r} (version {skill.version}, by its trigger {trigger!r}): "
        f"{draft.description} Follow its steps in this order, and leave out a step whose condition says so. What tools "
        f"tell you now overrides what the steps assume.{tools}\n{numbered_steps(draft)}"
    )
