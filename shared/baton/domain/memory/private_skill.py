"""Private skills: procedures that users make for themselves, and the actions on them.

A private skill is a ``Procedure`` of the scope ``user``. Only its maker uses it until somebody who may
approve procedures shares it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from baton.domain.errors import ProcedureNameTaken
from baton.domain.memory.procedure import Procedure, ProcedureScope, ProcedureStatus

MAX_PRIVATE = 100
"""Private skills that a user may have of one agent."""
IN_USE = (ProcedureStatus.PRIVATE, ProcedureStatus.OFFERED)
"""The statuses in which turns of the maker use a private skill."""


class SkillAction(StrEnum):
    """An action on a private skill, besides making and removing it."""

    OFFER = "offer"
    """Its maker asks to share it."""
    WITHDRAW = "withdraw"
    """Its maker takes the offer back."""
    DECLINE = "decline"
    """The offer is refused."""
    SHARE = "share"
    """Its content becomes an approved version of the agent."""


_MOVES: Mapping[tuple[ProcedureStatus, SkillAction], ProcedureStatus] = {
    (ProcedureStatus.PRIVATE, SkillAction.OFFER): ProcedureStatus.OFFERED,
    (ProcedureStatus.OFFERED, SkillAction.WITHDRAW): ProcedureStatus.PRIVATE,
    (ProcedureStatus.OFFERED, SkillAction.DECLINE): ProcedureStatus.PRIVATE,
    (ProcedureStatus.OFFERED, SkillAction.SHARE): ProcedureStatus.SHARED,
}
_RESULTS = {action: status for (_, action), status in _MOVES.items()}


@dataclass(frozen=True, slots=True)
class SkillDecision:
    """A person's action on a private skill."""

    action: SkillAction
    by: str
    at: datetime
    reason: str | None = None

    def apply(self, skill: Procedure) -> Procedure | None:
        """Return the skill after the decision, or None if it is not possible.

        A skill that its maker has not offered can be shared by its maker only.
        """
        status = _MOVES.get((skill.status, self.action))
        is_own = skill.status is ProcedureStatus.PRIVATE and self.by == skill.created_by
        if self.action is SkillAction.SHARE and is_own:
            status = ProcedureStatus.SHARED
        if status is None:
            return None
        return replace(skill, status=status, decided_by=self.by, decided_at=self.at, reason=self.reason)

    def is_taken(self, skill: Procedure) -> bool:
        """Return whether the same user has made this decision on the skill already."""
        return (skill.decided_by, skill.status) == (self.by, _RESULTS[self.action])


def make_shared_version(skill: Procedure, decision: SkillDecision) -> Procedure:
    """Return the approved version that a private skill becomes, without its number.

    The user who shares it becomes its creator. The maker is not named, because the version may outlive their data.
    """
    return replace(
        skill,
        scope=ProcedureScope.AGENT,
        status=ProcedureStatus.APPROVED,
        version=0,
        created_by=decision.by,
        created_at=decision.at,
        decided_by=decision.by,
        decided_at=decision.at,
        reason=None,
    )


def make_name_taken_error(approved: Procedure | None) -> ProcedureNameTaken:
    """Return the error for a decision that names another version to replace than ``approved`` (None: there is none)."""
    if approved is None:
        return ProcedureNameTaken("No procedure of this name is approved: leave out replaces.")
    return ProcedureNameTaken(
        f"Version {approved.version} of {approved.id} is approved (by {approved.decided_by}). Send replaces: "
        f"{approved.version} to put this skill in its place, or decline the offer and ask for another name."
    )
