"""The removal of a whole tenant, and its progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

WORK_ID = "removal"
"""The id by which the pipeline names a tenant's removal. Ids of requests to forget are UUIDs."""
PLAN_VALID = timedelta(days=1)
"""The age up to which a plan can be confirmed."""
LOST_AFTER = timedelta(hours=1)
"""The time without progress after which a removal's pipeline counts as lost, and another one may begin."""


class RemovalStatus(StrEnum):
    """The progress of a removal."""

    COUNTING = "counting"
    """The tenant's data are counted. Nothing is removed."""
    PLANNED = "planned"
    """The counts are complete, and wait for a confirmation."""
    REMOVING = "removing"
    VERIFYING = "verifying"
    """Every store is searched for data that are left."""
    COMPLETED = "completed"
    """Every store was searched, and nothing was left."""
    FAILED = "failed"
    """Data are left after the last round, or the pipeline failed. Another confirmation continues the removal."""


class RemovalStage(StrEnum):
    """The store that a pass works on. A pass goes through the stores in this order."""

    TABLE = "table"
    OBJECTS = "objects"
    INDICES = "indices"


@dataclass(frozen=True, slots=True)
class TenantRemoval:
    """The removal of one tenant: ids and counts only. Each tenant's last removal is stored."""

    id: str
    tenant_id: str
    requested_by: str
    requested_at: datetime
    status: RemovalStatus = RemovalStatus.COUNTING
    stage: RemovalStage = RemovalStage.TABLE
    position: str | None = None
    """The position in the stage at which the pass continues; None for its beginning."""
    round: int = 1
    """The number of the removing pass, from 1."""
    not_before: datetime | None = None
    """The time before which the pass must not begin, because a worker may still write until then."""
    attempt: int = 1
    """The number of the confirmation. Only a failed or lost removal can be confirmed again."""
    keeps_audit: bool = True
    """Whether audit records stay, without content."""
    plan: Mapping[str, int] = field(default_factory=dict)
    """The counts before the removal, by kind."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The numbers of removed records, by kind."""
    residue: Mapping[str, int] = field(default_factory=dict)
    """The numbers of records that the last verification has found, by kind."""
    confirmed_by: str | None = None
    confirmed_at: datetime | None = None
    planned_at: datetime | None = None
    changed_at: datetime | None = None
    """The time of the last progress."""
    ended_at: datetime | None = None
    revision: int = 0

    @property
    def is_confirmed(self) -> bool:
        """Whether the tenant is closed, for ever: nobody acts in it, and nothing is written for it."""
        return self.confirmed_at is not None

    def is_at_work(self, now: datetime) -> bool:
        """Return whether a pipeline is running for it, and not lost."""
        is_active = self.status in (RemovalStatus.COUNTING, RemovalStatus.REMOVING, RemovalStatus.VERIFYING)
        progress_at = self.changed_at or self.requested_at
        return is_active and now - max(progress_at, self.not_before or progress_at) < LOST_AFTER
