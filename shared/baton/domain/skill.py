"""Skills: steps that users teach an agent, and the triggers of messages that need them."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from baton.domain.identity import is_printable
from baton.domain.json_schema import problems
from baton.domain.tool import BUILTIN_TOOLS
from baton.domain.triggers import MAX_TRIGGER, checked_trigger, matching

SKILL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "description", "triggers", "steps"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 64},
        "description": {"type": "string", "minLength": 1, "maxLength": 1024},
        "triggers": {
            "type": "array",
            "minItems": 1,
            "maxItems": 20,
            "items": {"type": "string", "minLength": 1, "maxLength": MAX_TRIGGER},
        },
        "allowed_tools": {
            "type": "array",
            "maxItems": 50,
            "uniqueItems": True,
            "items": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"},
        },
        "steps": {
            "type": "array",
            "minItems": 1,
            "maxItems": 50,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["text"],
                "properties": {
                    "text": {"type": "string", "minLength": 1, "maxLength": 1000},
                    "condition": {"type": ["string", "null"], "minLength": 1, "maxLength": 300},
                },
            },
        },
    },
}
"""The JSON Schema of a skill: the fields that ``draft_from`` accepts."""


class InvalidSkill(Exception):
    """An invalid skill. The text lists all problems for its author."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problems))


class SkillStatus(StrEnum):
    """Whether a skill is in use."""

    DRAFT = "draft"
    """Saved but not in use: never activated, or replaced by another version."""
    ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class SkillStep:
    """One step; ``condition`` says when it is (not) taken ("skip if the user has named a channel")."""

    text: str
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class SkillDraft:
    """The content of a SKILL.md, validated by ``draft_from``. Every text is one line."""

    name: str
    description: str
    triggers: tuple[str, ...]
    """Phrases and patterns (``domain.triggers``)."""
    steps: tuple[SkillStep, ...]
    allowed_tools: tuple[str, ...] = ()
    """The tools that its steps may use; empty for all tools of the agent."""

    @property
    def slug(self) -> str:
        """Its name as an id: lower-case letters, digits and hyphens."""
        return slug_of(self.name)


@dataclass(frozen=True, slots=True)
class Skill:
    """A saved version of a skill, in a tenant, for an agent."""

    draft: SkillDraft
    tenant_id: str
    agent_id: str
    """The agent that uses it."""
    created_by: str
    created_at: datetime
    version: int = 0
    """From 1; 0 before it is saved."""
    status: SkillStatus = SkillStatus.DRAFT

    @property
    def slug(self) -> str:
        """Its id within tenant and agent."""
        return self.draft.slug


@dataclass(frozen=True, slots=True)
class Trial:
    """A sample message and the trigger that it matches, or None."""

    sample: str
    trigger: str | None

    @property
    def matches(self) -> bool:
        return self.trigger is not None


def draft_from(fields: Mapping[str, Any]) -> SkillDraft:
    """Make a skill of its fields (``SKILL_SCHEMA``), each text on one line. Raises ``InvalidSkill``."""
    found = [problem.message for problem in problems(SKILL_SCHEMA, dict(fields))]
    if found:
        raise InvalidSkill(found)
    draft = SkillDraft(
        name=_line(fields["name"]),
        description=_line(fields["description"]),
        triggers=tuple(trigger.strip() for trigger in fields["triggers"]),
        steps=tuple(
            SkillStep(_line(step["text"]), _line(step["condition"]) if step.get("condition") is not None else None)
            for step in fields["steps"]
        ),
        allowed_tools=tuple(fields.get("allowed_tools", ())),
    )
    found = list(_text_problems(draft))
    if found:
        raise InvalidSkill(found)
    return draft


def collected_fields(data: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the skill's fields for ``draft_from`` from the data of all states of its workflow."""
    known = SKILL_SCHEMA["properties"]
    return {name: value for values in data.values() for name, value in values.items() if name in known}


def try_skill(draft: SkillDraft, samples: Iterable[str]) -> list[Trial]:
    """Match each sample message against the skill's triggers."""
    return [Trial(sample, matching(draft.triggers, sample)) for sample in samples]


def matched(skills: Iterable[Skill], text: str) -> list[tuple[Skill, str]]:
    """Return the active skills that a message asks for, each with the trigger it matches."""
    found = ((skill, matching(skill.draft.triggers, text)) for skill in skills if skill.status is SkillStatus.ACTIVE)
    return [(skill, trigger) for skill, trigger in found if trigger is not None]


def saved(skill: Skill, version: int) -> Skill:
    """Return the skill as its ``version``-th version."""
    return replace(skill, version=version, status=SkillStatus.DRAFT)


def slug_of(name: str) -> str:
    """Return a name as an id of at most 64 lower-case ASCII letters, digits and hyphens.

    Names that differ only in omitted characters share an id. A name without ASCII letters or digits gets a derived id.
    """
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_only.lower()).strip("-")[:64].strip("-")
    return slug or "skill-" + hashlib.sha256(name.encode()).hexdigest()[:12]


def _text_problems(draft: SkillDraft) -> Iterable[str]:
    """Yield the problems that the schema cannot express."""
    texts = [("name", draft.name), ("description", draft.description)]
    for number, step in enumerate(draft.steps, start=1):
        texts.append((f"step {number}", step.text))
        if step.condition is not None:
            texts.append((f"the condition of step {number}", step.condition))
    yield from (f"{where} must be printable text" for where, text in texts if not is_printable(text, len(text)))
    for trigger in draft.triggers:
        try:
            checked_trigger(trigger)
        except ValueError as error:
            yield str(error)
    for tool in draft.allowed_tools:
        if BUILTIN_TOOLS.fullmatch(tool):
            yield f"{tool} is a tool of Baton's own, which no skill can use"


def _line(text: str) -> str:
    return " ".join(text.split())
