"""Functions are invoked on schedule, with EventBridge Scheduler's event."""

import json
import queue
from pathlib import Path
from typing import Any

import pytest

from baton_local.errors import TemplateProblem
from baton_local.root import ROOT
from baton_local.stack.declarations import ScheduleDefinition, Stack, read_stack
from baton_local.stack.template import Endpoints
from baton_local.workers.schedules import Scheduler
from tests.driven_cloud import DrivenCloud

NOWHERE = Endpoints(gateway="", sockets="", connections="", queues="http://queues.invalid")
SCHEDULE = ScheduleDefinition("Sweep", "SweeperFunction", 60, None, enabled=True)


def with_schedule(stand_in_template: Path, folder: Path, expression: str, more: str = "") -> Stack:
    """The stand-ins' stack with another schedule."""
    path = folder / "template.yaml"
    text = stand_in_template.read_text()
    path.write_text(text.replace("rate(1 minute), State: ENABLED", f"{expression}, {more or 'State: ENABLED'}"))
    return read_stack(path, {"Stage": "local"}, NOWHERE)


def test_sweeping_now_answers_what_the_function_answers(cloud: DrivenCloud) -> None:
    sample = json.loads((ROOT / "events/schedule_sweeper.json").read_text())
    event = cloud.sweep_now()
    assert event.keys() == sample.keys()
    varying = ("id", "time", "account", "resources")
    assert {**event, **dict.fromkeys(varying)} == {**sample, **dict.fromkeys(varying)}
    assert event["resources"] == [
        "arn:aws:scheduler:us-east-1:000000000000:schedule/default/SweeperFunctionEveryMinute"
    ]


def test_a_schedule_fires_again_and_again_also_after_a_failure() -> None:
    events: queue.Queue[Any] = queue.Queue()

    def invoke(event: Any) -> None:
        events.put(event)
        raise RuntimeError("no")

    scheduler = Scheduler(SCHEDULE, invoke, 0.01)
    scheduler.start()
    assert len({events.get(timeout=10)["id"] for _ in range(3)}) == 3
    scheduler.stop()


def test_a_schedule_may_fire_at_the_start_instead_of_after_one_interval() -> None:
    events: queue.Queue[Any] = queue.Queue()
    scheduler = Scheduler(SCHEDULE, events.put, 3_600, at_once=True)
    scheduler.start()
    assert events.get(timeout=10)["id"]
    scheduler.stop()
    assert events.empty()


def test_a_schedule_may_have_an_input_of_its_own() -> None:
    scheduler = Scheduler(ScheduleDefinition("Sweep", "SweeperFunction", 60, {"a": 1}, enabled=True), dict, 60)
    assert scheduler.fire() == {"a": 1}


@pytest.mark.parametrize(
    ("expression", "seconds"), [("rate(1 minute)", 60), ("rate(5 minutes)", 300), ("rate(2 hours)", 7200)]
)
def test_the_template_says_how_often(stand_in_template: Path, tmp_path: Path, expression: str, seconds: float) -> None:
    [schedule] = with_schedule(stand_in_template, tmp_path, expression).schedules
    assert (schedule.function, schedule.seconds, schedule.enabled) == ("SweeperFunction", seconds, True)


def test_the_template_may_switch_a_schedule_off_and_give_it_an_input(stand_in_template: Path, tmp_path: Path) -> None:
    more = """State: DISABLED, Input: '{"a": 1}'"""
    [schedule] = with_schedule(stand_in_template, tmp_path, "rate(1 minute)", more).schedules
    assert (schedule.enabled, schedule.input) == (False, {"a": 1})


def test_other_schedules_are_a_problem_that_is_named(stand_in_template: Path, tmp_path: Path) -> None:
    with pytest.raises(TemplateProblem, match=r"not cron\(0 3"):
        with_schedule(stand_in_template, tmp_path, "'cron(0 3 * * ? *)'")
