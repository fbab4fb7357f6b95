"""Whatever users and models do, and wherever workers die: one agent is active and nothing said is lost."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from baton.threads.requests.parsing import parse_message_request
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


def test_a_run_that_is_given_up_leaves_an_expired_workflow_as_it_is_stored() -> None:
    machine = ConversationMachine(in_memory)
    machine.say(at=0, text="make a thing", script=[], fault=("none", 0), follows=None)
    machine.wait(days=31)
    request = parse_message_request(machine.stores.ada, thread_id=machine.ids[0], message_id="m2", content="Hello")
    machine.runner.run(machine.worker.turns.give_up(machine.stores.ada, request, subscriber=None))

    machine.runner.run(machine.check(0))
    machine.teardown()


def test_on_dynamodb_local(on_dynamodb_local: Engine) -> None:
    explore("dynamodb local", on_dynamodb_local.stores, BRIEF)


def explore(store: str, make_stores: Callable[[], Stores], how: settings) -> None:
    class Machine(ConversationMachine):
        def __init__(self) -> None:
            counts.state_runs[store] += 1
            super().__init__(make_stores)

    run_state_machine_as_test(Machine, settings=how)
