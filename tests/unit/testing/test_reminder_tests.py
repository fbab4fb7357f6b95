"""Conversations of tests in which days pass, and reminders begin."""

from __future__ import annotations

from typing import Any

import pytest

from baton_project.project import Project
from tests.unit.testing.command import run, write_conversation

PLANTS: dict[str, Any] = {"text": "Water the plants.", "at": "2030-01-08T09:00"}


@pytest.fixture
def plants(project: Project) -> Project:
    """The project with an assistant that takes schedules."""
    file = project.agents / "assistant.yaml"
    file.write_text(f"{file.read_text()}schedules: {{allowed: true}}\n")
    return project


def remind(**arguments: Any) -> dict[str, Any]:
    answers = [{"call": {"schedule": PLANTS | arguments}}, "I will."]
    return {"say": "Remind me.", "answers": answers, "expect": {"tool": "schedule", "begun_by": None}}


def test_a_reminder_comes_at_its_time_and_the_reply_has_it_before_it(plants: Project) -> None:
    cancelled = [{"call": {"cancel_schedule": {"id": "none"}}}, {"call": {"schedule": PLANTS}}, "Moved."]
    ran = run(
        plants,
        write_conversation(
            plants,
            remind(),
            {"wait": "23 hours", "expect": {"begun_by": None}},
            {"wait": "1d", "answers": ["Please water."], "expect": {"begun_by": "schedule", "says": "Please water"}},
            {"say": "Move it to ten.", "answers": cancelled, "expect": {"says": "Moved."}},
            {"wait": "3 days", "expect": {"begun_by": None}},
            begins_at="2030-01-07T08:00:00Z",
        ),
    )
    assert ran.code == 0, ran.output


def test_a_reminder_is_at_the_users_time_of_day(plants: Project) -> None:
    ran = run(
        plants,
        write_conversation(
            plants,
            remind(at="2030-01-07T09:00"),
            {"wait": "13 hours 59 minutes", "expect": {"begun_by": None}},
            {"wait": "1 minute", "answers": ["Now."], "expect": {"begun_by": "schedule"}},
            begins_at="2030-01-07T00:00:00Z",
            conversation={"user": {"time_zone": "America/New_York"}},
        ),
    )
    assert ran.code == 0, ran.output


def test_weeks_of_a_rule_pass_and_the_agent_may_stay_silent(plants: Project) -> None:
    silent = {"call": {"stay_silent": {}}}
    ran = run(
        plants,
        write_conversation(
            plants,
            remind(rule="FREQ=DAILY;COUNT=10"),
            {"wait": "2 days", "answers": [silent, silent], "expect": {"begun_by": "schedule", "says_not": "Water"}},
            {"wait": "2 weeks", "answers": ["Water."] * 8, "expect": {"begun_by": "schedule", "says": "Water."}},
            {"wait": "2 weeks", "expect": {"begun_by": None}},
        ),
    )
    assert ran.code == 0, ran.output


def test_what_should_have_begun_is_in_the_report(plants: Project) -> None:
    ran = run(plants, write_conversation(plants, remind(), {"wait": "1 hour", "expect": {"begun_by": "schedule"}}))
    assert ran.code == 1
    assert "expected: begun by itself: schedule" in ran.output
    ran = run(
        plants, write_conversation(plants, remind(), {"wait": "2d", "answers": ["x"], "expect": {"begun_by": None}})
    )
    assert "happened: begun by itself: schedule" in ran.output
    assert "[begun by itself: schedule]" in ran.output
