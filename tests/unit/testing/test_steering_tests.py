"""Conversations of tests in which the user writes while the agent works."""

from __future__ import annotations

from typing import Any

import pytest

from baton_project.project import Project
from tests.unit.testing.command import run, write_conversation

SEARCH = {"call": {"order_status": {"number": "A-1001"}}, "say": "Let me look."}
AGENT = """id: assistant
name: Assistant
description: Assistant
main: true
system_prompt: Help.
while_busy: {mode}
while_busy_allowed: [{allowed}]
tools:
  - {{type: http, name: order_status, description: Looks., url: "https://example.com/orders"}}
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """The project with an assistant whose runs may be steered."""
    for file in project.agents.iterdir():
        if file.suffix in {".py", ".yaml"} and not file.name.startswith("_"):
            file.unlink()
    (project.agents / "assistant.yaml").write_text(AGENT.format(mode="steer", allowed="queue, steer, interrupt"))
    return project


def step(*answers: Any, expect: Any, **meanwhile: Any) -> dict[str, Any]:
    fields = {"say": "To Graz, please.", "during": "order_status", **meanwhile}
    message = {name: value for name, value in fields.items() if value is not None}
    return {"say": "Where is it?", "meanwhile": [message], "answers": [SEARCH, *answers], "expect": expect}


def hold_conversation(project: Project, *steps: dict[str, Any]) -> Any:
    return run(project, write_conversation(project, *steps, tools={"order_status": {"returns": "On its way."}}))


@pytest.mark.parametrize("during", ["order_status", None])
def test_a_message_enters_the_run_behind_the_results_of_tools(shop: Project, during: str | None) -> None:
    expect = {"steered": True, "interrupted": False, "says": "It goes to Graz."}
    ran = hold_conversation(shop, step("It goes to Graz.", expect=expect, during=during))
    assert ran.code == 0, ran.output


def test_a_message_that_waits_is_answered_after_the_run(shop: Project) -> None:
    expect = [{"steered": False, "says": ["On its way.", "Then to Graz."]}]
    ran = hold_conversation(shop, step("On its way.", "Then to Graz.", expect=expect, while_busy="queue"))
    assert ran.code == 0, ran.output


def test_a_message_stops_the_run_and_what_was_said_stays(shop: Project) -> None:
    expect = {"interrupted": True, "says": ["Let me look.", "To Graz, then."]}
    ran = hold_conversation(shop, step("To Graz, then.", expect=expect, while_busy="interrupt"))
    assert ran.code == 0, ran.output


def test_a_withdrawn_message_is_never_answered(shop: Project) -> None:
    expect = {"withdrawn": True, "steered": False, "says": "On its way."}
    ran = hold_conversation(shop, step("On its way.", expect=expect, while_busy="queue", withdraws=True))
    assert ran.code == 0, ran.output


def test_a_message_that_the_agent_does_not_allow_is_refused(shop: Project) -> None:
    (shop.agents / "assistant.yaml").write_text(AGENT.format(mode="queue", allowed="queue"))
    expect = {"error": "invalid_request", "says": "On its way."}
    ran = hold_conversation(shop, step("On its way.", expect=expect, while_busy="steer"))
    assert ran.code == 0, ran.output


def test_a_tool_that_is_not_called_lets_no_message_out(shop: Project) -> None:
    ran = hold_conversation(shop, {**step(expect=[]), "answers": ["Hello."]})
    assert "order_status was not called, so this was not sent: To Graz, please." in ran.output


def test_unmet_expectations_of_steering_are_reported(shop: Project) -> None:
    expect = {"steered": True, "interrupted": True, "withdrawn": True}
    ran = hold_conversation(shop, step("On its way.", "Graz.", expect=expect, while_busy="queue"))
    assert ran.code == 1
    for text in ("a message enters the run", "the run is stopped", "a message is withdrawn"):
        assert f"expected: {text}" in ran.output


def test_a_tool_that_does_not_exist_is_reported(shop: Project) -> None:
    ran = hold_conversation(shop, step("x", expect=[], during="order_statu"))
    assert (ran.code, "meanwhile.0.during: no agent has a tool 'order_statu'" in ran.errors) == (2, True)
