"""Runs of the pipelines that compute in the background, and the limits of simultaneous runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

LONGEST_RUN = timedelta(hours=1)
"""The time after which an unfinished run counts as dead. All retries of a step together take less."""


class Pipeline(StrEnum):
    """The pipelines whose runs wait for each other. The values are names of state machines."""

    CLOSING = "close_session"
    INGESTION = "ingest_document"
    CAPTURE = "capture_procedure"


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """One run of a pipeline."""

    pipeline: Pipeline
    tenant_id: str
    subject: str
    """The name of the work, unique in the deployment: the session, document version or task. Attempts share it."""
    name: str
    """The name of the attempt. It is reserved for 90 days (Step Functions), so an attempt starts only once."""
    described: Mapping[str, Any]
    """The input of the run: ids and keys, no content."""


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A run that waits for others to end."""

    run: PipelineRun
    since: datetime


@dataclass(frozen=True, slots=True)
class RunSlot:
    """A run in progress, which takes one of the pipeline's slots."""

    tenant_id: str
    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class PipelineLimits:
    """The most runs of one pipeline at the same time."""

    at_once: int = 20
    """The limit of the deployment."""
    of_tenant: int = 15
    """The limit of one tenant, so that some slots remain for the others."""


@dataclass(frozen=True, slots=True)
class RunsInProgress:
    """The runs of a pipeline that are in progress. A change makes the next revision."""

    slots: Mapping[str, RunSlot]
    """By the subjects of the runs."""
    revision: int = 0
    last_tenant_id: str = ""
    """The tenant whose run began last. The search for the next run begins after it."""

    def select_begun_since(self, time: datetime) -> RunsInProgress:
        """Return the runs that began at ``time`` or later."""
        return replace(self, slots={subject: slot for subject, slot in self.slots.items() if slot.since >= time})

    def count_of_tenant(self, tenant_id: str) -> int:
        """Return the number of the tenant's runs."""
        return Counter(slot.tenant_id for slot in self.slots.values())[tenant_id]

    def have_room(self, tenant_id: str, limits: PipelineLimits) -> bool:
        """Return whether a run of the tenant may begin."""
        return len(self.slots) < limits.at_once and self.count_of_tenant(tenant_id) < limits.of_tenant

    def are_full(self, limits: PipelineLimits) -> bool:
        """Return whether the deployment or one of its tenants has reached its limit of runs."""
        most = max(Counter(slot.tenant_id for slot in self.slots.values()).values(), default=0)
        return len(self.slots) >= limits.at_once or most >= limits.of_tenant

    def begin(self, run: PipelineRun, now: datetime) -> RunsInProgress:
        """Return the next revision, with the run."""
        slots = {**self.slots, run.subject: RunSlot(run.tenant_id, run.name, now)}
        return RunsInProgress(slots, self.revision + 1, run.tenant_id)

    def end(self, subject: str) -> RunsInProgress:
        """Return the next revision, without the subject's run."""
        return replace(self.without(subject), revision=self.revision + 1)

    def without(self, subject: str) -> RunsInProgress:
        """Return the same revision, without the subject's run."""
        return replace(self, slots={key: slot for key, slot in self.slots.items() if key != subject})

    def hand_over(self, ended: str, run: PipelineRun, now: datetime) -> RunsInProgress:
        """Return the next revision, with ``run`` in place of the run of the subject ``ended``."""
        return self.without(ended).begin(run, now)
