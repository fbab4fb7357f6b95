"""Ports for procedures and private skills, the pipeline that captures them, and announcements of new ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol

from baton.domain.memory.capture import Capture, CaptureRef
from baton.domain.memory.private_skill import SkillDecision
from baton.domain.memory.procedure import Procedure, ProcedureDecision, ProcedureScope, ProcedureStatus
from baton.domain.tenants.identity import Scope


class ProcedureStore(Protocol):
    """The procedures of tenants, in all versions. The caller checks permissions.

    A procedure is identified by its agent and its id within the scope's tenant. Ids of procedures for all agents begin
    with ``TENANT_PREFIX``; any agent may be named with them. The content of a version never changes. Private skills
    have a separate store (``PrivateSkills``). Methods raise ``StoreUnavailable`` if the table does not answer.
    """

    async def put(self, scope: Scope, procedure: Procedure, *, edited_from: int | None = None) -> Procedure:
        """Save a pending procedure as its next version, and return the version.

        Nothing is saved if its source has made a version before, or if the approved version, or the newest if it is
        pending, has the same content: that version is returned unchanged. Raises ``ValueError`` for a procedure that is
        not pending.

        ``edited_from`` is the version that was changed, which is retired if it is pending. Only the newest version is
        then compared. The same change by the same user again changes nothing. Raises ``ProcedureChanged`` if that
        version is not the newest, and ``UnknownProcedure`` if there is none.
        """

    async def get(
        self, scope: Scope, agent_id: str, procedure_id: str, *, version: int | None = None
    ) -> Procedure | None:
        """Return one version of a procedure, or its newest; None if it does not exist."""

    async def get_approved(self, scope: Scope, agent_id: str, procedure_id: str) -> Procedure | None:
        """Return the approved version of a procedure; None if there is none."""

    async def versions(
        self, scope: Scope, agent_id: str, procedure_id: str, *, limit: int, before: int | None = None
    ) -> Sequence[Procedure]:
        """Return at most ``limit`` versions below the number ``before``, newest first."""

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
        """Approve, reject or retire a version, and return it. An approval retires the formerly approved version.

        Repeating a decision changes nothing. Raises ``UnknownProcedure``, and ``ProcedureChanged`` if the version is
        in a status that the decision does not allow, or not in the status ``read_as``.
        """

    async def approved(
        self, scope: Scope, agent_id: str, *, of: ProcedureScope = ProcedureScope.AGENT
    ) -> Sequence[Procedure]:
        """Return the agent's or tenant's approved procedures, ordered by id; at most ``MAX_APPROVED``.

        Their counts of uses are not included.
        """

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

        The newest is first, by the time of its decision or else of its creation. Raises ``InvalidRequest`` for a cursor
        that this list did not hand out.
        """

    async def forget_source(self, scope: Scope, agent_id: str, procedure_id: str, version: int) -> None:
        """Forget the conversation in which a version was made: a pending version is removed, others lose their source.

        A repetition or a missing version is not an error.
        """

    async def record_use(
        self, scope: Scope, agent_id: str, procedure_id: str, version: int, *, run_id: str, went_well: bool
    ) -> bool:
        """Count a run that has followed a version. Return whether it was counted now: a run counts once."""


class SharedSkill(NamedTuple):
    """The version that a private skill has become."""

    version: Procedure
    replaced: int | None
    """The number of the approved version that it has replaced; None if there was none."""


class PrivateSkills(Protocol):
    """The private skills of users. The scope is their maker's; the caller checks permissions.

    A skill is identified by its agent and its id, which begins with ``USER_PREFIX``. Saving it again under the same
    name increases its version, and only the newest content is stored. Methods raise ``StoreUnavailable`` if the table
    does not answer.
    """

    async def save(self, scope: Scope, skill: Procedure, *, made_of: str) -> Procedure:
        """Save a skill as private, and return it with its version.

        ``made_of`` names its source. Nothing is saved if the source has made a version before, or if the skill in use
        has the same content: the skill is returned unchanged.
        """

    async def get(self, scope: Scope, agent_id: str, skill_id: str) -> Procedure | None:
        """Return a skill of the user, in any status; None if there is none."""

    async def of_user(self, scope: Scope) -> Sequence[Procedure]:
        """Return all skills of the user, by agent and id."""

    async def in_use(self, scope: Scope, agent_id: str) -> Sequence[Procedure]:
        """Return the skills that turns of the user with this agent use, by id."""

    async def offered(
        self, scope: Scope, agent_ids: Collection[str], *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Procedure], str | None]:
        """Return a page of the skills that users of the tenant offer, latest first, and the next cursor.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """

    async def change(
        self, scope: Scope, agent_id: str, skill_id: str, version: int, decision: SkillDecision
    ) -> Procedure:
        """Offer a skill, or withdraw or decline the offer. Return the skill.

        Repeating a decision changes nothing. Raises ``UnknownProcedure``, and ``ProcedureChanged`` if the version is
        not the newest, or in a status that the decision does not allow.
        """

    async def share(
        self, scope: Scope, agent_id: str, skill_id: str, version: int, decision: SkillDecision, *, replaces: int | None
    ) -> SharedSkill:
        """Save the content of a skill as an approved version of its agent, made by the user who shares it.

        ``replaces`` is the approved version of the same name, which is retired in the same write; None if there is
        none. A repetition changes nothing. Raises as ``change`` does, and ``ProcedureNameTaken`` if another version is
        approved.
        """

    async def remove(self, scope: Scope, agent_id: str, skill_id: str, version: int) -> Procedure:
        """Remove the content of a skill, and return it as retired. Later versions continue its numbers.

        Raises ``UnknownProcedure``, and ``ProcedureChanged`` if the version is not the newest.
        """


class CaptureStore(Protocol):
    """The records of captures, kept with their thread. Callers must have checked the thread's ownership.

    Methods raise ``StoreUnavailable``.
    """

    async def get(self, scope: Scope, ref: CaptureRef) -> Capture | None:
        """Return the record; None if no step has been carried out."""

    async def save(self, scope: Scope, capture: Capture) -> Capture:
        """Store the result of a step, and return what is stored.

        The first result of a step counts: a record of the same or a later step, or a settled record, stays and is
        returned. A failure replaces every record that is not settled, and a later result replaces a failure.
        """

    async def take_allowance(self, scope: Scope, agent_id: str, day: date, limit: int) -> bool:
        """Count one capture of the agent on this day; return False, without counting, if there were ``limit``."""


class Captures(Protocol):
    """The pipeline that captures procedures (Step Functions)."""

    async def start(self, scope: Scope, ref: CaptureRef, *, attempt: int) -> None:
        """Start the pipeline. Repeating an ``attempt`` is not an error. Raises ``StoreUnavailable``."""


@dataclass(frozen=True, slots=True)
class PendingProcedure:
    """A procedure that waits for approval. It has ids only, because events reach systems of any kind."""

    agent_id: str
    procedure_id: str
    version: int
    thread_id: str
    """The conversation from which it was captured."""


class Announcements(Protocol):
    """Announcements of events. A repetition is delivered again, so receivers must compare procedure and version."""

    async def procedure_pending(self, scope: Scope, procedure: PendingProcedure) -> None:
        """Announce that a procedure waits for approval. Raises ``StoreUnavailable``."""
