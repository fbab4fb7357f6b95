"""However workers interleave and clocks jump: one writer at a time, and what was committed stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.contracts.fake_stores import in_memory
from tests.contracts.stores import Stores
from tests.faults import counts
from tests.faults.state_machines.one_writer import OneWriter
from tests.integration.store.conftest import Engine

QUICK = settings(
    max_examples=counts.scale(60),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


def test_in_memory() -> None:
    explore("in memory", in_memory, QUICK)


@pytest.mark.parametrize(("engine", "examples"), [("on_moto", 1), ("on_dynamodb_local", 3)])
def test_on_an_engine(request: pytest.FixtureRequest, engine: str, examples: int) -> None:
    at: Engine = request.getfixturevalue(engine)
    # What is found here is made smaller in memory; here that would take minutes.
    explore(
        engine.removeprefix("on_").replace("_", " "),
        at.stores,
        settings(QUICK, max_examples=counts.scale(examples), phases=[Phase.generate]),
    )


def explore(store: str, make_stores: Callable[[], Stores], how: settings) -> None:
    class Machine(OneWriter):
        def __init__(self) -> None:
            counts.store_runs[store] += 1
            super().__init__(make_stores)

    run_state_machine_as_test(Machine, settings=how)
