"""System notes for a model besides its agent's prompt: unavailable tools, unfinished workflows, skills."""

from __future__ import annotations

from collections.abc import Sequence

from baton.agents.tool_kit import ToolKit
from baton.agents.workflow_notes import workflow_note
from baton.domain.message import Role
from baton.domain.running_conversation import RunningConversation
from baton.domain.skill import Skill, matched
from baton.domain.skill_markdown import numbered_steps
from baton.memory.handoff_context import handoff_notes
from baton.memory.token_estimates import prompt_tokens
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


def steady_notes(conversation: RunningConversation) -> list[Prompt]:
    """Return the notes that stay the same as long as the agent is active."""
    return handoff_notes(conversation.handoff) if conversation.handoff is not None else []


def skill_notes(followed: Followed, counter: TokenCounter) -> list[Prompt]:
    """Return the steps of the skills that a message matches, as many as fit ``MAX_SKILL_TOKENS``."""
    notes: list[Prompt] = []
    room = MAX_SKILL_TOKENS
    for skill, trigger in followed:
        note = Prompt(Role.SYSTEM, _steps(skill, trigger))
        needed = prompt_tokens(note, counter)
        if needed <= room:
            room -= needed
            notes.append(note)
    return notes


def changing_notes(conversation: RunningConversation, kit: ToolKit) -> list[Prompt]:
    """Return the notes that may change with every turn: the workflow's state and the tools that are missing."""
    notes: list[Prompt] = []
    if conversation.definition is not None and conversation.workflow is not None:
        notes.append(Prompt(Role.SYSTEM, workflow_note(conversation.definition, conversation.workflow)))
    if kit.missing:
        missing = "; ".join(f"{each.origin} ({each.reason})" for each in kit.missing)
        told = (
            f"Some of your tools cannot be used at the moment: {missing}. Do without them. The user is told that you "
            "are limited: do not apologise for it."
        )
        notes.append(Prompt(Role.SYSTEM, told))
    return notes


def _steps(skill: Skill, trigger: str) -> str:
    draft = skill.draft
    tools = f"\nTools for it: {', '.join(draft.allowed_tools)}." if draft.allowed_tools else ""
    return (
        f"The message matches the skill {draft.name!r} (version {skill.version}, by its trigger {trigger!r}): "
        f"{draft.description} Follow its steps in this order, and leave out a step whose condition says so. What tools "
        f"tell you now overrides what the steps assume.{tools}\n{numbered_steps(draft)}"
    )
