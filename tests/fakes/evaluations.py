"""Evaluations in memory."""

from __future__ import annotations

from collections.abc import Sequence

from baton.domain.cursors import decode_text, encode_text
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.evaluation import EVALUATION_ID, Evaluation, EvaluationEntry
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock


class FakeEvaluations:
    """``ports.tenants.evaluations.EvaluationStore``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: dict[tuple[str, str], Evaluation] = {}

    async def put(self, scope: Scope, evaluation: Evaluation) -> bool:
        key = scope.tenant_id, evaluation.entry.id
        return self._records.setdefault(key, evaluation) is evaluation

    async def get(self, scope: Scope, evaluation_id: str) -> Evaluation | None:
        result = self._records.get((scope.tenant_id, evaluation_id))
        return result if result is not None and result.entry.expires_at > self._clock.now() else None

    async def page(
        self, scope: Scope, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[EvaluationEntry], str | None]:
        before = decode_text(cursor) if cursor else None
        if before is not None and not EVALUATION_ID.fullmatch(before):
            raise InvalidRequest("cursor was not handed out by this list.")
        listed = [record.entry for (tenant, _), record in self._records.items() if tenant == scope.tenant_id]
        newest = sorted(listed, key=lambda entry: entry.id, reverse=True)
        sources = [
            record
            for record in newest
            if (before is None or record.id < before) and record.expires_at > self._clock.now()
        ]
        return sources[:limit], encode_text(sources[limit - 1].id) if len(sources) > limit else None

    async def remove(self, scope: Scope, evaluation_id: str) -> None:
        self._records.pop((scope.tenant_id, evaluation_id), None)
