"""What Baton tells a model besides its agent's own prompt: where things stand, and what to follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from baton.conversation.running_floor import RunningFloor
from baton.conversation.tool_kit import ToolKit
from baton.conversation.workflow_notes import workflow_note
from baton.domain.message import Role
from baton.domain.skill import Skill, matched
from baton.domain.skill_markdown import numbered_steps
from baton.memory.context import prompt_tokens
from baton.memory.handoff_context import handoff_notes
from baton.ports.chat_model import Prompt
from baton.ports.token_counter import TokenCounter

CONTINUING = "I would like to continue {workflow}."
"""What stands for the user's words where they took a workflow up with a button. Nobody has said it: it is not kept."""
MOST_SKILL_TOKENS = 4_000
"""Of all skills' steps together; one that does not fit any more is left out."""
MOST_SKILLS = 3
"""Skills that one message is answered with."""


def notes_for(
    floor: RunningFloor, kit: ToolKit, skills: Sequence[Skill], text: str, counter: TokenCounter
) -> list[Prompt]:
    """What stands behind the system prompt of the agent that has the floor, which answers ``text``."""
    return [*_notes(floor, kit, skills, text, counter)]


def _notes(
    floor: RunningFloor, kit: ToolKit, skills: Sequence[Skill], text: str, counter: TokenCounter
) -> Iterator[Prompt]:
    if floor.handoff is None:
        room = MOST_SKILL_TOKENS
        for skill, trigger in matched(skills, text)[:MOST_SKILLS]:
            note = Prompt(Role.SYSTEM, _steps(skill, trigger))
            needed = prompt_tokens(note, counter)
            if needed <= room:
                room -= needed
                yield note
    else:
        yield from handoff_notes(floor.handoff)
    if floor.definition is not None and floor.workflow is not None:
        yield Prompt(Role.SYSTEM, workflow_note(floor.definition, floor.workflow))
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
