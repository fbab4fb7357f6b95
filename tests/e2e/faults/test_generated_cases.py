"""Thousands of small disasters, each in a fraction of a second: real adapters, virtual time, seeds that repeat.

``BATON_FAULT_CASES`` says how many cases of all kinds together; ``python -m benchmarks.chaos`` goes on for as long as
it is asked to. A failing case names its seed: ``BATON_FAULT_SEED=17`` runs that one alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.e2e.faults import counts
from tests.e2e.faults.case import Engines, run_case
from tests.e2e.faults.plan import KINDS, Plan
from tests.engines import TableAt

CASES = int(os.environ.get("BATON_FAULT_CASES", "110"))
ONLY = os.environ.get("BATON_FAULT_SEED")


@pytest.fixture(scope="module")
def engines(dynamodb_local_table: TableAt, moto_server: str) -> Iterator[Engines]:
    engines = Engines(dynamodb_local_table, moto_server)
    yield engines
    engines.close()


@pytest.mark.parametrize("kind", KINDS)
def test_after_any_disaster_the_store_and_every_screen_agree(kind: str, engines: Engines) -> None:
    share = CASES // len(KINDS)
    seeds = [int(ONLY)] if ONLY else range(share)
    for seed in seeds:
        outcome = run_case(engines, Plan.of(seed, kind))
        counts.cases[kind] += 1
        counts.faults.update(outcome.counts)
        assert not outcome.violations, f"seed {seed}: " + "\n".join(outcome.violations)
