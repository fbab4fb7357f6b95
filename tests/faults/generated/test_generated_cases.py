"""Thousands of small disasters, each in a fraction of a second: virtual time, and seeds that repeat.

``BATON_FAULT_CASES`` says how many cases of all kinds together run in memory; one for every sixteen of them, and at
least one of each kind, runs on the real adapters, DynamoDB Local and moto. ``make test`` runs a small number,
``make faults`` the many, and ``python -m tests.faults.chaos`` goes on for as long as it is asked to. A failing case
names its seed: ``BATON_FAULT_SEED=17`` runs that one alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from baton_local.stack.declarations import Stack
from tests.engines import TableAt
from tests.faults import counts
from tests.faults.generated.case import run_case
from tests.faults.generated.engines import Engines, RealEngines
from tests.faults.generated.in_memory import InMemory
from tests.faults.generated.plan import KINDS, Plan

REAL_SHARE = 16
USUAL = ("kill -9", "lost answers", "everything")
"""The kinds that run on the real adapters in `make test`; the others are left to `make all`."""
ONLY = os.environ.get("BATON_FAULT_SEED")


@pytest.fixture(scope="module")
def real_engines(dynamodb_local_table: TableAt, moto_server: str, product_stack: Stack) -> Iterator[RealEngines]:
    engines = RealEngines(dynamodb_local_table, moto_server, product_stack)
    yield engines
    engines.close()


@pytest.mark.parametrize("kind", KINDS)
def test_after_any_fault_the_store_and_every_screen_agree(kind: str) -> None:
    run_cases("in memory", InMemory(), kind, counts.GENERATED // len(KINDS))


@pytest.mark.parametrize(
    "kind", [kind if kind in USUAL else pytest.param(kind, marks=pytest.mark.nightly) for kind in KINDS]
)
def test_after_any_fault_the_table_and_every_screen_agree(kind: str, real_engines: RealEngines) -> None:
    run_cases("real", real_engines, kind, counts.GENERATED // len(KINDS) // REAL_SHARE)


def run_cases(sort: str, engines: Engines, kind: str, cases: int) -> None:
    """Run so many cases of a kind on a sort of engines."""
    for seed in [int(ONLY)] if ONLY else range(max(1, cases)):
        outcome = run_case(engines, Plan.of(seed, kind))
        counts.cases[sort] += 1
        counts.messages[sort] += outcome.turns
        counts.faults.update(outcome.counts)
        assert not outcome.violations, f"seed {seed}: " + "\n".join(outcome.violations)
