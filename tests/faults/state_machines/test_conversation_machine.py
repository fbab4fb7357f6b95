"""Whatever users and models do, and wherever workers die: one agent is active and nothing said is lost."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.contracts.fake_stores import in_memory
from tests.contracts.stores import Stores
from tests.faults import counts
from tests.faults.state_machines.conversation_machine import ConversationMachine
from tests.integration.store.conftest import Engine

THOROUGH = settings(
    max_examples=counts.scale(60), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
# What is found on an engine is made smaller in memory; there that would take minutes.
BRIEF = settings(THOROUGH, max_examples=counts.scale(5), stateful_step_count=20, phases=[Phase.generate])


def test_in_memory() -> None:
    explore("in memory", in_memory, THOROUGH)


def test_on_dynamodb_local(on_dynamodb_local: Engine) -> None:
    explore("dynamodb local", on_dynamodb_local.stores, BRIEF)


def explore(store: str, make_stores: Callable[[], Stores], how: settings) -> None:
    class Machine(ConversationMachine):
        def __init__(self) -> None:
            counts.state_runs[store] += 1
            super().__init__(make_stores)

    run_state_machine_as_test(Machine, settings=how)
