"""Published results of evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.tenants.evaluation import Evaluation, EvaluationEntry
from baton.domain.tenants.identity import Scope


class EvaluationStore(Protocol):
    """The evaluations of tenants. Those that have expired are not served. Methods raise ``StoreUnavailable``."""

    async def put(self, scope: Scope, evaluation: Evaluation) -> bool:
        """Store an evaluation unless there is one with its id. Return whether it is new."""

    async def get(self, scope: Scope, evaluation_id: str) -> Evaluation | None:
        """Return an evaluation; None if there is none."""

    async def page(
        self, scope: Scope, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[EvaluationEntry], str | None]:
        """Return a page of evaluations, newest first, and the next cursor. Raises ``InvalidRequest``."""

    async def remove(self, scope: Scope, evaluation_id: str) -> None:
        """Remove an evaluation. A repetition is not an error."""
