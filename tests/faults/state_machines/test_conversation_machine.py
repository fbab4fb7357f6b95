"""Whatever users and models do, and wherever workers die: one agent is active and nothing said is lost."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.fakes.stores import in_memory
from tests.faults import counts
from tests.faults.state_machines.conversation_machine import ConversationMachine

THOROUGH = settings(
    max_examples=120,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_in_memory() -> None:
    class Machine(ConversationMachine):
        def __init__(self) -> None:
            counts.state_runs["in memory"] += 1
            super().__init__(in_memory)

    run_state_machine_as_test(Machine, settings=THOROUGH)
