"""Storage of procedures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.procedure import Procedure, ProcedureDecision, ProcedureScope, ProcedureStatus


class ProcedureStore(Protocol):
    """The procedures of tenants, in all versions. The caller checks permissions.

    A procedure is identified by its agent and its id within the scope's tenant; ids of all agents' procedures begin
    with ``TENANT_PREFIX``, and any agent may be named with them. The content of a version never changes. Private skills
    have a store of their own (``PrivateSkills``). Methods raise ``StoreUnavailable`` if the table does not answer.
    """

    async def put(self, scope: Scope, procedure: Procedure, *, edited_from: int | None = None) -> Procedure:
        """Save a pending procedure as its next version, and return it with its number.

        Nothing is saved if its source has made a version before, or if the newest or the approved version has the same
        content: that one is returned as it is. Raises ``ValueError`` for one that is not pending.

        ``edited_from`` is the version that it is a change of. If that one is pending, it is retired. The same change by
        the same user again changes nothing. Raises ``ProcedureChanged`` if that version is not the newest, and
        ``UnknownProcedure`` if there is none.
        """
        ...

    async def get(
        self, scope: Scope, agent_id: str, procedure_id: str, *, version: int | None = None
    ) -> Procedure | None:
        """Return one version of a procedure, or its newest."""
        ...

    async def get_approved(self, scope: Scope, agent_id: str, procedure_id: str) -> Procedure | None:
        """Return the approved version of a procedure."""
        ...

    async def versions(
        self, scope: Scope, agent_id: str, procedure_id: str, *, limit: int, before: int | None = None
    ) -> Sequence[Procedure]:
        """Return the versions before the version ``before``, newest first."""
        ...

    async def decide(
        self,
        scope: Scope,
        agent_id: str,
        procedure_id: str,
        version: int,
        decision: ProcedureDecision,
        *,
        read_as: ProcedureStatus | None = None,
    ) -> Procedure:
        """Approve, reject or retire a version, and return it. Approving one retires the approved version.

        Repeating a decision changes nothing. Raises ``UnknownProcedure``, and ``ProcedureChanged`` if the version is
        in a status that the decision is not for, or not in the status ``read_as``.
        """
        ...

    async def approved(
        self, scope: Scope, agent_id: str, *, of: ProcedureScope = ProcedureScope.AGENT
    ) -> Sequence[Procedure]:
        """Return the agent's, or the tenant's, approved procedures, ordered by id; at most ``MAX_APPROVED``.

        How often they were used is not told.
        """
        ...

    async def of_agents(
        self,
        scope: Scope,
        agent_ids: Collection[str],
        statuses: Collection[ProcedureStatus],
        *,
        limit: int,
        cursor: str | None,
    ) -> tuple[Sequence[Procedure], str | None]:
        """Return a page of the versions in these statuses, the agents' and the tenant's, and the next page's cursor.

        The newest comes first: by their decision, or by their making if there is none yet. Raises ``InvalidRequest``
        for a cursor that was not handed out.
        """
        ...

    async def forget_source(self, scope: Scope, agent_id: str, procedure_id: str, version: int) -> None:
        """Forget the conversation that a version was made in: a pending version is removed, others lose their source.

        A repetition, and a version that does not exist, are no error.
        """
        ...

    async def record_use(
        self, scope: Scope, agent_id: str, procedure_id: str, version: int, *, run_id: str, went_well: bool
    ) -> bool:
        """Count that a run has followed a version. Returns whether it was counted: a run counts once."""
        ...
