"""Conversations of tests in which people of a desk act, and time passes."""

from __future__ import annotations

from typing import Any

import pytest

from baton_project.project import Project
from tests.unit.testing.command import run, write_conversation

DESK = """id: people
kind: desk
name: Support team
description: People.
triggers: ["a human"]
desk: {wait_minutes: 10}
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """The project with a desk that its assistant hands over to."""
    (project.agents / "people.yaml").write_text(DESK)
    file = project.agents / "assistant.yaml"
    file.write_text(f"{file.read_text()}handoffs: [{{to: people}}]\n")
    return project


def person(expect: dict[str, Any], **does: Any) -> dict[str, Any]:
    return {"person": does, "expect": expect}


def test_a_person_takes_writes_and_hands_back(shop: Project) -> None:
    ran = run(
        shop,
        write_conversation(
            shop,
            {"desk": True, "expect": {"desk": "waiting", "delivered": False}},
            {"say": "Hello?", "expect": {"delivered": True}},
            person({"desk": "active", "spoken_by": "Anna", "says": "I am Anna."}, takes=True, says="I am Anna."),
            person({"desk": None, "returned": True}, notes="Nice.", returns="All is well."),
            {"say": "Thanks", "answers": ["You are welcome."], "expect": {"says": "welcome", "desk": None}},
        ),
    )
    assert ran.code == 0, ran.output


def test_a_person_takes_and_hands_back_a_second_visit_of_the_same_instant(shop: Project) -> None:
    takes = person({"desk": "active", "says": "You are talking to Anna now."}, takes=True)
    asks, ask_again = ({"desk": True, "expect": {"desk": "waiting"}} for _ in range(2))
    returns = person({"desk": None, "returned": True}, returns="The first visit.")
    returns_again = person({"desk": None, "returned": True}, returns="The second visit.")
    ran = run(shop, write_conversation(shop, asks, takes, returns, ask_again, takes, returns_again))
    assert ran.code == 0, ran.output


def test_nobody_comes(shop: Project) -> None:
    ran = run(
        shop,
        write_conversation(
            shop,
            {"desk": "people", "expect": {"desk": "waiting"}},
            {"wait": "9 minutes", "expect": {"desk": "waiting"}},
            {"wait": "3 minutes", "expect": {"desk": None, "says": "Nobody of Support team is free"}},
        ),
    )
    assert ran.code == 0, ran.output


def test_a_person_who_takes_and_says_nothing_loses_a_user_who_only_pressed_the_button(shop: Project) -> None:
    ran = run(
        shop,
        write_conversation(
            shop,
            {"desk": True, "expect": {"desk": "waiting"}},
            person({"desk": "active"}, takes=True),
            {"wait": "29 minutes", "expect": {"desk": "active"}},
            {"wait": "2 minutes", "expect": {"desk": None}},
        ),
    )
    assert ran.code == 0, ran.output


def test_unmet_expectations_of_a_desk_are_reported(shop: Project) -> None:
    ran = run(
        shop,
        write_conversation(shop, {"desk": True, "expect": {"desk": "active", "delivered": True, "spoken_by": "Ben"}}),
    )
    assert ran.code == 1
    for line in ("active at a desk", "a message goes to a desk", "Ben writes to the user"):
        assert line in ran.output
