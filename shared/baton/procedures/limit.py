"""The limit of how many procedures are approved at a time."""

from __future__ import annotations

from baton.domain.errors import TooManyProcedures
from baton.domain.identity import Scope
from baton.domain.procedure import MAX_APPROVED, ProcedureScope
from baton.ports.procedures import ProcedureStore


async def check_room(
    store: ProcedureStore, scope: Scope, agent_id: str, procedure_id: str, of: ProcedureScope = ProcedureScope.AGENT
) -> None:
    """Raise ``TooManyProcedures`` if approving a version of this procedure would make one too many.

    Approvals at the same time may exceed the limit by a few. Raises ``StoreUnavailable``.
    """
    approved = await store.approved(scope, "" if of is ProcedureScope.TENANT else agent_id, of=of)
    if len(approved) >= MAX_APPROVED and all(each.id != procedure_id for each in approved):
        raise TooManyProcedures
