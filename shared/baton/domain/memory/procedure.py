"""Procedures: steps that an agent follows, and the triggers of messages that need them.

Users know those that they make themselves as skills, and the file format as SKILL.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from baton.domain.agents.tool import BUILTIN_TOOLS
from baton.domain.handoffs.triggers import (
    MAX_PATTERN_SIZE,
    MAX_TRIGGER,
    check_trigger,
    find_first_match,
    measure_pattern,
)
from baton.domain.schemas.json_schema import find_problems
from baton.domain.tenants.identity import is_printable
from baton.domain.text import normalise_text

PROCEDURE_SCHEMA: dict[str, Any] = {
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
"""The JSON Schema of a procedure: the fields that ``parse_draft`` accepts."""


MAX_APPROVED = 1_000
"""Approved procedures of an agent, and of a tenant's agents together. A worker keeps them in memory."""
RESERVED_SLUG = "match"
"""An id that no procedure has: ``/procedures/match`` is the address for trying a message."""
TENANT_PREFIX = "tenant."
"""The prefix of the ids of procedures of all agents. A slug has no full stop, so no other procedure has such an id."""
USER_PREFIX = "user."
"""The prefix of the ids of private skills. They are unique among those of one user and one agent."""


class InvalidProcedure(Exception):
    """An invalid procedure. The text lists all problems for its author."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problems))


class ProcedureStatus(StrEnum):
    """The state of a version of a procedure. Turns use approved versions, and their user's private skills."""

    PENDING = "pending"
    """It waits for a decision."""
    APPROVED = "approved"
    """Turns use it. At most one version of a procedure is approved."""
    REJECTED = "rejected"
    RETIRED = "retired"
    """Another version has replaced it, or it was withdrawn."""
    PRIVATE = "private"
    """A private skill: turns of its maker use it, and nobody has approved it."""
    OFFERED = "offered"
    """A private skill that its maker asks to share."""
    SHARED = "shared"
    """A private skill that was shared. It is no longer used, because the agent's approved version has its content."""


REVIEWED = (ProcedureStatus.PENDING, ProcedureStatus.APPROVED, ProcedureStatus.REJECTED, ProcedureStatus.RETIRED)
"""The statuses of versions that belong to an agent or a tenant."""


class ProcedureAction(StrEnum):
    """An action on a version."""

    APPROVE = "approve"
    REJECT = "reject"
    RETIRE = "retire"


_MOVES: Mapping[tuple[ProcedureStatus, ProcedureAction], ProcedureStatus] = {
    (ProcedureStatus.PENDING, ProcedureAction.APPROVE): ProcedureStatus.APPROVED,
    (ProcedureStatus.PENDING, ProcedureAction.REJECT): ProcedureStatus.REJECTED,
    (ProcedureStatus.PENDING, ProcedureAction.RETIRE): ProcedureStatus.RETIRED,
    (ProcedureStatus.APPROVED, ProcedureAction.RETIRE): ProcedureStatus.RETIRED,
}


def find_next_status(status: ProcedureStatus, action: ProcedureAction) -> ProcedureStatus | None:
    """Return the status of a version after an action; None if the action is not possible.

    A rejected or retired version never changes again. To use its content, save it as a new version.
    """
    return _MOVES.get((status, action))


class ProcedureScope(StrEnum):
    """The users of a procedure."""

    AGENT = "agent"
    """One agent."""
    TENANT = "tenant"
    """All agents of the tenant."""
    USER = "user"
    """One agent, in turns of one user: a private skill."""


_PREFIXES = {ProcedureScope.AGENT: "", ProcedureScope.TENANT: TENANT_PREFIX, ProcedureScope.USER: USER_PREFIX}


@dataclass(frozen=True, slots=True)
class ProcedureSource:
    """The origin of a version: a task or a workflow in a conversation."""

    thread_id: str
    run_id: str | None = None
    """The run that completed the task."""
    workflow_id: str | None = None
    """The workflow that made it."""
    message_ids: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The identity of the source, which all versions from the same task or workflow share."""
        return f"{self.thread_id}#{self.workflow_id or self.run_id or ''}"


@dataclass(frozen=True, slots=True)
class ProcedureStep:
    """One step. ``condition`` says when to take or skip it ("skip if the user has named a channel")."""

    text: str
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class ProcedureDraft:
    """The content of a SKILL.md, validated by ``parse_draft``. Every text is one line."""

    name: str
    description: str
    triggers: tuple[str, ...]
    """Phrases and patterns (``domain.handoffs.triggers``)."""
    steps: tuple[ProcedureStep, ...]
    allowed_tools: tuple[str, ...] = ()
    """The tools that its steps may use; empty for all tools of the agent."""

    @property
    def slug(self) -> str:
        """Its name as an id: lower-case letters, digits and hyphens."""
        return make_slug(self.name)


@dataclass(frozen=True, slots=True)
class Procedure:
    """A version of a procedure, in a tenant."""

    draft: ProcedureDraft
    tenant_id: str
    agent_id: str
    """The agent that uses it; for the scope ``tenant``, the agent for which it was made."""
    created_by: str
    created_at: datetime
    version: int = 0
    """From 1; 0 before it is saved."""
    status: ProcedureStatus = ProcedureStatus.PENDING
    scope: ProcedureScope = ProcedureScope.AGENT
    source: ProcedureSource | None = None
    """The origin; None if it was written by hand."""
    decided_by: str | None = None
    """The user who approved, rejected or retired it last."""
    decided_at: datetime | None = None
    reason: str | None = None
    """The reason for the last decision, if any."""
    used: int = 0
    """The number of turns that followed it."""
    went_well: int = 0
    """The number of these turns that went well."""

    @property
    def slug(self) -> str:
        """Its name as an id, within its scope."""
        return self.draft.slug

    def repeats(self, newest: Procedure, edited_from: int) -> bool:
        """Return whether ``newest`` was made by the same change as this version: of the version ``edited_from``."""
        return (newest.version, newest.draft, newest.created_by) == (edited_from + 1, self.draft, self.created_by)

    @property
    def id(self) -> str:
        """Its id within tenant and agent, the same in all versions."""
        return f"{_PREFIXES[self.scope]}{self.slug}"


@dataclass(frozen=True, slots=True)
class ProcedureDecision:
    """A user's decision on a version of a procedure."""

    action: ProcedureAction
    by: str
    at: datetime
    reason: str | None = None

    def apply(self, procedure: Procedure) -> Procedure | None:
        """Return the version after the decision, or None if it is not possible."""
        status = find_next_status(procedure.status, self.action)
        if status is None:
            return None
        return replace(procedure, status=status, decided_by=self.by, decided_at=self.at, reason=self.reason)

    def is_taken(self, procedure: Procedure) -> bool:
        """Return whether the same user has made this decision on the version already."""
        status = _MOVES[ProcedureStatus.PENDING, self.action]
        return procedure.status is status and procedure.decided_by == self.by


@dataclass(frozen=True, slots=True)
class Trial:
    """A sample message, and the trigger that it matches; None if it matches none."""

    sample: str
    trigger: str | None

    @property
    def matches(self) -> bool:
        """True if the sample matches a trigger."""
        return self.trigger is not None


def check_is_proposal(procedure: Procedure) -> None:
    """Raise ``ValueError`` unless a procedure is pending, and an agent's or a tenant's.

    Only a decision on a version, or the decision to share a private skill, approves a procedure.
    """
    if procedure.status is not ProcedureStatus.PENDING or procedure.scope is ProcedureScope.USER:
        raise ValueError(f"a procedure is saved as pending, not as {procedure.status} for the {procedure.scope}")


def parse_draft(fields: Mapping[str, Any]) -> ProcedureDraft:
    """Return the draft with these fields (``PROCEDURE_SCHEMA``), each text on one line. Raises ``InvalidProcedure``."""
    messages = [problem.message for problem in find_problems(PROCEDURE_SCHEMA, dict(fields))]
    if messages:
        raise InvalidProcedure(messages)
    draft = ProcedureDraft(
        name=_join_line(fields["name"]),
        description=_join_line(fields["description"]),
        triggers=tuple(trigger.strip() for trigger in fields["triggers"]),
        steps=tuple(
            ProcedureStep(
                _join_line(step["text"]), _join_line(step["condition"]) if step.get("condition") is not None else None
            )
            for step in fields["steps"]
        ),
        allowed_tools=tuple(fields.get("allowed_tools", ())),
    )
    messages = list(_find_text_problems(draft))
    if messages:
        raise InvalidProcedure(messages)
    return draft


def select_collected_fields(data: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the procedure's fields for ``parse_draft`` from the data of all states of its workflow."""
    properties = PROCEDURE_SCHEMA["properties"]
    return {name: value for values in data.values() for name, value in values.items() if name in properties}


def try_draft(draft: ProcedureDraft, samples: Iterable[str]) -> list[Trial]:
    """Match each sample message against the procedure's triggers."""
    return [Trial(sample, find_first_match(draft.triggers, sample)) for sample in samples]


def make_slug(name: str) -> str:
    """Return a name as an id of at most 64 lower-case ASCII letters, digits and hyphens.

    Names that differ only in omitted characters share an id. A name without ASCII letters or digits gets an id made of
    a digest, and a name whose id would be ``RESERVED_SLUG`` gets a prefix.
    """
    ascii_only = normalise_text("NFKD", name).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_only.lower()).strip("-")[:64].strip("-")
    if slug == RESERVED_SLUG:
        return f"skill-{slug}"
    return slug or "skill-" + hashlib.sha256(name.encode()).hexdigest()[:12]


def _find_text_problems(draft: ProcedureDraft) -> Iterable[str]:
    """Yield the problems that the schema cannot express."""
    texts = [("name", draft.name), ("description", draft.description)]
    for number, step in enumerate(draft.steps, start=1):
        texts.append((f"step {number}", step.text))
        if step.condition is not None:
            texts.append((f"the condition of step {number}", step.condition))
    yield from (f"{where} must be printable text" for where, text in texts if not is_printable(text, len(text)))
    for trigger in draft.triggers:
        try:
            if measure_pattern(check_trigger(trigger)) > MAX_PATTERN_SIZE:
                yield f"the pattern {trigger!r} is too large: write smaller numbers of repetitions"
        except ValueError as error:
            yield str(error)
    for tool in draft.allowed_tools:
        if BUILTIN_TOOLS.fullmatch(tool):
            yield f"{tool} is one of Baton's own tools, which procedures cannot list: remove it"


def _join_line(text: str) -> str:
    return " ".join(text.split())
