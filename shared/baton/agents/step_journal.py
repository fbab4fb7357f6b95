"""The journal of one exchange, which finds recorded steps and records new ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from baton.domain.errors import RunChanged, RunLimitReached
from baton.domain.runs.run_step import MAX_AT_ONCE, MAX_JOURNAL_BYTES, MAX_STEPS, RunStep, StepKind
from baton.ports.threads.leases import Lease
from baton.ports.threads.run_records import RunRecords

UNKNOWN_TIME = datetime.min.replace(tzinfo=UTC)


class StepJournal:
    """The steps of agents with a ``run`` coroutine in one exchange.

    An exchange may have several runs, because a wait for an approval ends a run.
    """

    def __init__(
        self,
        message_id: str = "",
        first_ordinal: int = 0,
        began_at: datetime = UNKNOWN_TIME,
        steps: Mapping[str, RunStep] | None = None,
    ) -> None:
        """``message_id``, ``first_ordinal`` and ``began_at`` belong to the first message of the exchange.

        ``steps`` are the recorded steps by id.
        """
        self.began_at = began_at
        self.message_id = message_id
        self.slots = asyncio.Semaphore(MAX_AT_ONCE)
        """Limits the steps that call models and tools at the same time. Questions to agents are not limited here."""
        self._first_ordinal = first_ordinal
        self._records = dict(steps or {})
        self._bytes = sum(step.recorded_size for step in self._records.values())
        self._count = 0

    @property
    def sources(self) -> list[Mapping[str, Any]]:
        """The sources of the recorded steps."""
        return [source for step in self._records.values() for source in step.sources]

    def take(self) -> None:
        """Count a step before it is looked up or carried out. Raises ``RunLimitReached``."""
        self._count += 1
        if self._count > MAX_STEPS:
            raise RunLimitReached(f"The agent has taken {MAX_STEPS} steps, the most that one answer may take.")

    def find(self, step_id: str, kind: StepKind, digest: str, position: str) -> RunStep | None:
        """Return the record of a step; None if it is not recorded.

        Raises ``RunChanged`` if the record with this id has another kind or digest.
        """
        step = self._records.get(step_id)
        if step is not None and (step.kind, step.digest) != (kind, digest):
            change = f"Step {position} was {step.kind.value}, and is another {kind.value} now."
            raise RunChanged(f"{RunChanged.detail} ({change})")
        return step

    async def keep(self, records: RunRecords, lease: Lease, step: RunStep) -> None:
        """Store a step. Its result must not be used before.

        Raises ``LeaseLost``, ``StoreUnavailable``, and ``RunLimitReached`` if all steps together are too large.
        """
        self._bytes += step.recorded_size
        if self._bytes > MAX_JOURNAL_BYTES:
            raise RunLimitReached(
                f"The agent's steps have more than {MAX_JOURNAL_BYTES} bytes together, arguments included."
            )
        await records.put_step(lease, step, first_ordinal=self._first_ordinal)
        self._records[step.id] = step
