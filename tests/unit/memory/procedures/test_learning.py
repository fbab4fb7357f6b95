"""Runs and sessions that start a capture, and counts of uses of procedures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from baton import RunContext
from baton.authoring.functions import Functions
from baton.composition.app import build
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import LearningSettings
from baton.domain.memory.procedure import Procedure
from baton.domain.metrics import Metric, collect_counts
from baton.ports.agents.tools import ToolFailed
from tests.contracts.procedures import DRAFT, add_approved
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.sessions import close
from tests.unit.memory.procedures.tasks import ASKED, CALLS, OPERATOR, call, complete_task, equip, list_started


@pytest.fixture
def harness() -> Harness:
    return equip(Harness(assistant=OPERATOR))


def make_learning_harness(**settings: Any) -> Harness:
    agent = OPERATOR.model_copy(update={"learning": LearningSettings(**settings)})
    return equip(Harness(assistant=agent))


async def catch_up(harness: Harness, number: int = 1) -> int:
    return await harness.app.procedures.session_learning.catch_up(harness.ada, harness.thread_id, number)


async def test_a_run_of_several_calls_starts_a_capture_of_its_messages(harness: Harness) -> None:
    turn = await complete_task(harness)
    [ref] = list_started(harness)
    assert turn.finished is not None
    assert (ref.thread_id, ref.agent_id, ref.first_ordinal) == (harness.thread_id, "assistant", 0)
    assert ref.end_ordinal == turn.finished.thread.next_ordinal
    assert turn.types[-1] == "RUN_FINISHED"


async def test_a_run_without_calls_reads_and_starts_nothing(harness: Harness) -> None:
    await harness.say()
    assert list_started(harness) == []


@pytest.mark.parametrize(
    "calls",
    [CALLS[:2], (call("crm_find", customer="A"), call("crm_find", 1, customer="B"), call("crm_find", 2, customer="C"))],
    ids=["too few calls", "one tool only"],
)
async def test_fewer_calls_are_no_task(harness: Harness, calls: Any) -> None:
    await complete_task(harness, calls=calls)
    assert list_started(harness) == []


async def test_what_code_has_decided_is_no_task() -> None:
    async def run(context: RunContext, message: str) -> str:
        for item in CALLS:
            await context.call(item.name, **(item.parse_arguments() or {}))
        return "Done."

    agent = AgentDefinition.model_validate(OPERATOR.model_dump())
    agent.code.run = run
    harness = equip(Harness(assistant=agent, functions=Functions()))
    turn = await harness.say("m1", ASKED)
    assert (turn.text, turn.types.count("TOOL_CALL_RESULT")) == ("Done.", len(CALLS))
    assert list_started(harness) == []


async def test_calls_that_fail_do_not_count(harness: Harness) -> None:
    async def fails(**arguments: Any) -> str:
        raise ToolFailed("No.")

    harness.tools.add("slack_post", fails)
    await complete_task(harness)
    assert list_started(harness) == []


async def test_a_run_that_fails_is_no_task(harness: Harness) -> None:
    from baton.domain.errors import ModelUnavailable

    harness.model.script(*(Answer.calling(item) for item in CALLS), ModelUnavailable())
    await harness.say()
    assert list_started(harness) == []


@pytest.mark.parametrize("settings", [{"enabled": False}, {"min_calls": 4}, {"min_tools": 4}, {"sample_rate": 0}])
async def test_an_agents_file_decides_what_is_looked_at(settings: dict[str, Any]) -> None:
    harness = make_learning_harness(**settings)
    await complete_task(harness)
    assert list_started(harness) == []


async def test_a_deployment_can_switch_it_off() -> None:
    harness = Harness(assistant=OPERATOR)
    harness.with_learning = False
    app = build(harness)
    harness.turns, harness.closer = app.turns, app.closer
    await complete_task(equip(harness))
    await close(harness)
    assert await app.procedures.session_learning.catch_up(harness.ada, harness.thread_id, 1) == 0
    assert list_started(harness) == []


async def test_a_capture_that_does_not_start_costs_the_run_nothing(harness: Harness) -> None:
    harness.captures.is_down = True
    counts: dict[Metric, int] = {}
    with collect_counts(counts.update):
        turn = await complete_task(harness)
    assert turn.types[-1] == "RUN_FINISHED"
    assert counts[Metric.CAPTURES_NOT_STARTED] == 1


async def test_what_was_not_started_starts_when_the_session_ends(harness: Harness) -> None:
    harness.captures.is_down = True
    await complete_task(harness)
    await harness.say("m2", "Thank you.")
    await close(harness)
    harness.captures.is_down = False
    assert await catch_up(harness) == 1
    [ref] = list_started(harness)
    assert ref.first_ordinal == 0
    assert await catch_up(harness) == 1  # under the same name, so that nothing runs twice
    assert len(list_started(harness)) == 1


async def test_a_task_over_several_runs_is_looked_at_as_a_session(harness: Harness) -> None:
    for number, item in enumerate(CALLS):
        await complete_task(harness, f"m{number}", calls=(item,))
    assert list_started(harness) == []
    await close(harness)
    assert await catch_up(harness) == 1
    [ref] = list_started(harness)
    assert (ref.first_ordinal, ref.end_ordinal) == (0, 12)


async def test_a_deleted_thread_is_left_alone(harness: Harness) -> None:
    harness.thread_id = harness.clock.new_id()
    assert await catch_up(harness) == 0


async def make_following_harness() -> Harness:
    """Return a harness whose user may follow an approved procedure."""
    harness = equip(Harness(recalls=True, assistant=OPERATOR))
    draft = replace(DRAFT, triggers=("report an outage",))
    procedure = Procedure(draft, "acme", "assistant", "ada", harness.clock.now())
    await add_approved(harness.procedures, harness.ada, procedure)
    return harness


async def read_uses(harness: Harness) -> tuple[int, int]:
    result = await harness.procedures.get(harness.ada, "assistant", "slack-alert")
    assert result is not None
    return result.used, result.went_well


async def test_a_run_that_follows_a_procedure_counts_and_is_not_captured() -> None:
    harness = await make_following_harness()
    await complete_task(harness, message=ASKED)
    assert await read_uses(harness) == (1, 1)
    assert list_started(harness) == []
    await close(harness)
    assert await catch_up(harness) == 0
    assert await read_uses(harness) == (1, 1), "a run counts once"


async def test_a_use_with_a_failed_call_did_not_go_well() -> None:
    harness = await make_following_harness()

    async def fails(**arguments: Any) -> str:
        raise ToolFailed("No.")

    harness.tools.add("slack_post", fails)
    await complete_task(harness, message=ASKED)
    assert await read_uses(harness) == (1, 0)


async def test_a_message_that_matches_no_procedure_is_no_use() -> None:
    harness = await make_following_harness()
    await harness.say("m1", "Hello")
    assert await read_uses(harness) == (0, 0)
