"""The contract of stores of evaluations."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from baton.domain.cursors import encode_text
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.evaluation import RETENTION, Evaluation, EvaluationEntry, make_evaluation_id
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock
from baton.ports.tenants.tenants import EvaluationStore
from baton_testing.fakes.clock import FakeClock


def make_evaluation(clock: Clock, number: int = 0, **details: Any) -> Evaluation:
    """Return an evaluation that began ``number`` minutes ago."""
    began_at: datetime = clock.now() - timedelta(minutes=number)
    entry = EvaluationEntry(
        id=make_evaluation_id(began_at, f"{number:012x}"),
        label="my-shop",
        model="gpt-6-luna",
        judge=None,
        began_at=began_at,
        published_by="ada",
        published_at=clock.now(),
        cases=3,
        runs=6,
        passed=0.5,
        low=0.188,
        high=0.812,
        not_run=number,
        passes=3,
    )
    metric = {"name": "passed", "mean": 0.5, "low": 0.188, "high": 0.812, "runs": 6, "not_judged": 0, "is_rate": True}
    case = {"name": "Größe", "runs": 6, "judged": 6, "passes": 3, "metrics": {}, "reasons": [], "tags": []}
    numbers = {"seconds": 1.5, "tokens": 10, "usd": None, "not_run": 0, "cases_left_out": 0}
    return Evaluation(entry, {**numbers, "metrics": [metric], "cases": [case], **details})


class EvaluationContract:
    """Evaluations belong to one tenant, are stored once, and expire."""

    async def test_an_evaluation_is_read_as_it_was_stored(self, store: EvaluationStore, clock: FakeClock) -> None:
        ada, other = _tenants()
        evaluation = make_evaluation(clock)
        assert await store.put(ada, evaluation)
        assert await store.get(ada, evaluation.entry.id) == evaluation
        assert await store.get(other, evaluation.entry.id) is None
        assert await store.page(other, limit=10, cursor=None) == ([], None)

    async def test_an_id_is_taken_once(self, store: EvaluationStore, clock: FakeClock) -> None:
        ada, _ = _tenants()
        evaluation = make_evaluation(clock)
        assert await store.put(ada, evaluation)
        again = replace(evaluation, details={"cases": []})
        assert not await store.put(ada, again)
        assert await store.get(ada, evaluation.entry.id) == evaluation

    async def test_pages_go_back_in_time(self, store: EvaluationStore, clock: FakeClock) -> None:
        ada, _ = _tenants()
        evaluations = [make_evaluation(clock, number) for number in range(5)]
        for evaluation in reversed(evaluations):
            await store.put(ada, evaluation)
        evaluation_entries: list[EvaluationEntry] = []
        cursor, pages = None, 0
        while pages == 0 or cursor is not None:
            page, cursor = await store.page(ada, limit=2, cursor=cursor)
            evaluation_entries += page
            pages += 1
        assert evaluation_entries == [evaluation.entry for evaluation in evaluations]
        assert pages == 3
        for wrong in ("no cursor", encode_text("EVAL#")):
            with pytest.raises(InvalidRequest):
                await store.page(ada, limit=2, cursor=wrong)

    async def test_a_removed_one_is_gone_and_so_is_an_expired_one(
        self, store: EvaluationStore, clock: FakeClock
    ) -> None:
        ada, _ = _tenants()
        first, second = make_evaluation(clock, 0), make_evaluation(clock, 1)
        for item in (first, second):
            await store.put(ada, item)
        for _ in range(2):
            await store.remove(ada, first.entry.id)
        assert await store.page(ada, limit=10, cursor=None) == ([second.entry], None)
        clock.advance(RETENTION.total_seconds())
        assert await store.get(ada, second.entry.id) is None
        assert await store.page(ada, limit=10, cursor=None) == ([], None)


def _tenants() -> tuple[Scope, Scope]:
    tenant = f"t{uuid.uuid4().hex}"
    return Scope(tenant, "ada"), Scope(f"{tenant}-2", "ada")
