"""The approved procedures that an agent may follow, indexed by their triggers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass

from baton.domain.private_skill import IN_USE
from baton.domain.procedure import Procedure, ProcedureScope, ProcedureStatus
from baton.domain.trigger_index import TriggerIndex
from baton.domain.triggers import Specificity


@dataclass(frozen=True, slots=True)
class TriggeredProcedure:
    """A procedure that a message asks for, and its most specific trigger."""

    procedure: Procedure
    trigger: str
    specificity: Specificity


class ProcedureSet:
    """Approved procedures, and private skills of one user. All others are left out."""

    def __init__(self, procedures: Iterable[Procedure] = ()) -> None:
        self.procedures = tuple(each for each in procedures if _is_followed(each))
        self._skills: ProcedureSet | None = None
        self._by_trigger: defaultdict[str, list[int]] = defaultdict(list)
        for place, procedure in enumerate(self.procedures):
            for trigger in procedure.draft.triggers:
                self._by_trigger[trigger].append(place)
        self._index = TriggerIndex(self._by_trigger)

    def with_skills(self, skills: Iterable[Procedure]) -> ProcedureSet:
        """Return these with a user's private skills. The index of these is not made again."""
        own = ProcedureSet(each for each in skills if each.scope is ProcedureScope.USER)
        if not own.procedures:
            return self
        both = copy(self)
        both.procedures = (*self.procedures, *own.procedures)
        both._skills = own
        return both

    @property
    def triggers(self) -> int:
        """Return how many different triggers a message is compared with."""
        return len(self._by_trigger) + (self._skills.triggers if self._skills is not None else 0)

    def triggered(self, text: str) -> list[TriggeredProcedure]:
        """Return the procedures that a message asks for, the one to follow first.

        The order is: approved ones before private skills, the most specific trigger, the agent's own before the
        tenant's, the one approved last, the id.
        """
        best: dict[int, tuple[Specificity, str]] = {}
        for trigger, specificity in self._index.found(text).items():
            for place in self._by_trigger[trigger]:
                best[place] = max(best.get(place, (specificity, trigger)), (specificity, trigger))
        found = [
            TriggeredProcedure(self.procedures[place], trigger, specificity)
            for place, (specificity, trigger) in best.items()
        ]
        skills = self._skills.triggered(text) if self._skills is not None else []
        return [*sorted(found, key=_order), *skills]


def _is_followed(procedure: Procedure) -> bool:
    if procedure.scope is ProcedureScope.USER:
        return procedure.status in IN_USE
    return procedure.status is ProcedureStatus.APPROVED


def _order(found: TriggeredProcedure) -> tuple[object, ...]:
    words, characters = found.specificity
    procedure = found.procedure
    approved_at = (procedure.decided_at or procedure.created_at).timestamp()
    return -words, -characters, procedure.scope is ProcedureScope.TENANT, -approved_at, procedure.id
