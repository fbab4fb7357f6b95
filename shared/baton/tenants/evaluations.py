"""Published results of evaluations of a tenant's agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from baton.domain.errors import InvalidRequest, NotFound
from baton.domain.tenants.evaluation import EVALUATION_ID, MAX_EVALUATIONS, Evaluation, EvaluationEntry
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog
from baton.ports.tenants.tenants import EvaluationStore
from baton.tenants.privacy.readers import Readers

PAGE = 100
"""The number of evaluations in a page."""


@dataclass(frozen=True, slots=True)
class Evaluations:
    """Published evaluations. The caller has checked permissions."""

    store: EvaluationStore
    readers: Readers
    audit: AuditLog
    clock: Clock

    async def publish(
        self, scope: Scope, entry: EvaluationEntry, details: Mapping[str, Any]
    ) -> tuple[Evaluation, bool]:
        """Store an evaluation without personal data. Return it, and whether it is new.

        A repetition returns the stored evaluation. If the tenant then has more than ``MAX_EVALUATIONS``, the oldest
        ones of the user with most of them are removed. Raises ``InvalidRequest`` for an evaluation that begins in the
        future.
        """
        now = self.clock.now()
        if entry.began_at > now:
            raise InvalidRequest("beganAt must not be in the future.")
        stored = await self.store.get(scope, entry.id)
        if stored is not None:
            return stored, False
        entry_texts = {"label": entry.label, "model": entry.model, "judge": entry.judge}
        clean: dict[str, Any] = await self.readers.redact({**entry_texts, **_extract_texts(details)})
        clean_entry_texts = {name: clean[name] for name in entry_texts}
        evaluation_entry = replace(entry, **clean_entry_texts, published_by=scope.user_id, published_at=now)
        evaluation = Evaluation(evaluation_entry, _replace_texts(details, clean))
        if not await self.store.put(scope, evaluation):
            return await self.get(scope, entry.id), False
        detail: dict[str, Any] = {
            "evaluationId": evaluation_entry.id,
            "cases": evaluation_entry.cases,
            "runs": evaluation_entry.runs,
        }
        if evaluation_entry.agent_id is not None:  # it may count for the gate of this version
            detail |= {"agentId": evaluation_entry.agent_id, "version": evaluation_entry.agent_version}
        await self.audit.record(scope, "evaluation.publish", thread_id=None, outcome="published", detail=detail)
        await self._make_room(scope)
        return evaluation, True

    async def get(self, scope: Scope, evaluation_id: str) -> Evaluation:
        """Return an evaluation. Raises ``NotFound``."""
        evaluation = None
        if EVALUATION_ID.fullmatch(evaluation_id):
            evaluation = await self.store.get(scope, evaluation_id)
        if evaluation is None:
            raise NotFound("There is no such evaluation. It may have expired.")
        return evaluation

    async def remove(self, scope: Scope, evaluation_id: str) -> None:
        """Remove an evaluation. Raises ``NotFound`` for an id that no evaluation can have."""
        if not EVALUATION_ID.fullmatch(evaluation_id):
            raise NotFound("There is no such evaluation.")
        await self.store.remove(scope, evaluation_id)
        detail = {"evaluationId": evaluation_id}
        await self.audit.record(scope, "evaluation.delete", thread_id=None, outcome="deleted", detail=detail)

    async def _make_room(self, scope: Scope) -> None:
        """Remove the oldest evaluations of the users with most, so that no user displaces the evaluations of others."""
        cursor: str | None = None
        entries: list[EvaluationEntry] = []
        while True:
            page, cursor = await self.store.page(scope, limit=PAGE, cursor=cursor)
            entries += page
            if cursor is None:
                break
        by_publisher: dict[str, list[EvaluationEntry]] = {}
        for entry in entries:  # the newest first
            by_publisher.setdefault(entry.published_by, []).append(entry)
        for _ in range(len(entries) - MAX_EVALUATIONS):
            longest = max(by_publisher.values(), key=len)
            await self.store.remove(scope, longest.pop().id)


def _extract_texts(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts of ``details``, without the counts and means, which may look like personal data."""
    cases = [
        {"name": case["name"], "reasons": case["reasons"], "tags": case["tags"], "metrics": [*case["metrics"]]}
        for case in details["cases"]
    ]
    return {"metrics": [metric["name"] for metric in details["metrics"]], "cases": cases}


def _replace_texts(details: Mapping[str, Any], texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``details`` with ``texts``, which have the form of the result of ``_extract_texts``."""
    metrics = [{**metric, "name": name} for metric, name in zip(details["metrics"], texts["metrics"], strict=True)]
    cases = [
        {**case, **clean, "metrics": dict(zip(clean["metrics"], case["metrics"].values(), strict=True))}
        for case, clean in zip(details["cases"], texts["cases"], strict=True)
    ]
    return {**details, "metrics": metrics, "cases": cases}
