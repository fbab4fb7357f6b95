"""The approved procedures that an agent may follow, indexed by their triggers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

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
    """Approved procedures. All others are left out, whoever hands them in."""

    def __init__(self, procedures: Iterable[Procedure] = ()) -> None:
        self.procedures = tuple(each for each in procedures if each.status is ProcedureStatus.APPROVED)
        self._by_trigger: defaultdict[str, list[int]] = defaultdict(list)
        for place, procedure in enumerate(self.procedures):
            for trigger in procedure.draft.triggers:
                self._by_trigger[trigger].append(place)
        self._index = TriggerIndex(self._by_trigger)

    @property
    def triggers(self) -> int:
        """Return how many different triggers a message is compared with."""
        return len(self._by_trigger)

    def triggered(self, text: str) -> list[TriggeredProcedure]:
        """Return the procedures that a message asks for, the one to follow first.

        The order is: the most specific trigger, the agent's own before the tenant's, the one approved last, the id.
        """
        best: dict[int, tuple[Specificity, str]] = {}
        for trigger, specificity in self._index.found(text).items():
            for place in self._by_trigger[trigger]:
                best[place] = max(best.get(place, (specificity, trigger)), (specificity, trigger))
        found = [
            TriggeredProcedure(self.procedures[place], trigger, specificity)
            for place, (specificity, trigger) in best.items()
        ]
        return sorted(found, key=_order)


def _order(found: TriggeredProcedure) -> tuple[object, ...]:
    words, characters = found.specificity
    procedure = found.procedure
    approved_at = (procedure.decided_at or procedure.created_at).timestamp()
    return -words, -characters, procedure.scope is ProcedureScope.TENANT, -approved_at, procedure.id
