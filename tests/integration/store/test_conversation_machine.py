"""Whatever users and models do, and wherever workers die: over DynamoDB too, one agent is active."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.faults import counts
from tests.faults.state_machines.conversation_machine import ConversationMachine
from tests.integration.store.conftest import Engine

# What is found here is made smaller in memory; here that would take minutes.
BRIEF = settings(
    max_examples=10,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)


def test_on_dynamodb_local(on_dynamodb_local: Engine) -> None:
    class Machine(ConversationMachine):
        def __init__(self) -> None:
            counts.state_runs["dynamodb local"] += 1
            super().__init__(on_dynamodb_local.stores)

    run_state_machine_as_test(Machine, settings=BRIEF)
