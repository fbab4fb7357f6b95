"""Conversations in tests in Python, and their fixtures for pytest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from typing import get_type_hints

import pytest

import baton_testing
from baton_local.root import ROOT
from baton_project.project import Project
from tests.unit.project.conftest import edit

TAKES = "events: [{type: order.shipped, instructions: Name the carrier.}]\n"
TESTS = """
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from baton_testing import (
    Conversation, ConversationFailed, ConversationMaker, Meanwhile, Refuse, ToolFailed, User, answer, call, failure
)

ASKS = call("ask_orders", {"message": "Where is A-1001?"})


def test_what_happened_is_what_the_step_returns(conversation: Conversation) -> None:
    step = conversation.say(
        "Where is A-1001?",
        answers=[
            ASKS, call("order_status", {"number": "A-1001"}, agent="orders"), "On its way.", answer("It is on its way.")
        ],
    )
    assert step.text == "It is on its way."
    assert step.consulted == ("orders",)
    looked_up = next(called for called in step.calls if called.tool == "order_status")
    assert looked_up.arguments == {"number": "A-1001"}
    assert "on its way" in str(looked_up.output)
    assert conversation.workflow is None
    assert conversation.steps == (step,)


def test_a_tool_is_answered_by_a_function_of_the_test(begin_conversation: ConversationMaker) -> None:
    def closed(arguments: dict[str, object]) -> object:
        raise ToolFailed(f"No {arguments['number']} today.")

    conversation = begin_conversation(tools={"order_status": closed}, user=User(id="grace", time_zone="Europe/Vienna"))
    answers = [ASKS, call("order_status", {"number": "A-1"}, agent="orders"), "Hm.", "I do not know."]
    step = conversation.say("Where is A-1?", answers=answers)
    assert [called.error for called in step.calls if called.tool == "order_status"] == ["No A-1 today."]


def test_a_tool_that_completes_a_workflow_refuses_and_names_a_state(begin_conversation: ConversationMaker) -> None:
    def file_report(arguments: dict[str, object]) -> object:
        return Refuse("There is no such bike.", state="BIKE")

    conversation = begin_conversation(agent="desk", tools={"file_report": file_report})
    conversation.say("Broken", answers=[
        call("transfer_to_reports", {"reason": "r", "context_summary": "s"}),
        call("advance_workflow", {"state": "CHECK", "data": {"number": "BK-9"}}),
        "Is that right?",
    ])
    step = conversation.say("Yes", answers=[call("advance_workflow", {"state": "DONE"}), "There is none."])
    assert step.workflow == "BIKE"
    assert step.approvals == ()


def test_code_knows_the_time_of_the_test_on_the_clocks_of_the_user(begin_conversation: ConversationMaker) -> None:
    begins_at, user = datetime(2020, 1, 4, 23, 30, tzinfo=UTC), User(id="ada", time_zone="Europe/Vienna")
    conversation = begin_conversation(agent="desk", begins_at=begins_at, user=user)
    step = conversation.say("When?", answers=[call("tell_time", {}), call("tell_time_in_a_task", {}), "Now."])
    assert [called.output for called in step.calls] == ["2020-01-05T00:30:00+01:00"] * 2
    conversation.wait(days=1)
    step = conversation.say("When?", answers=[call("tell_time", {}), "Now."])
    assert str(step.calls[0].output).startswith("2020-01-06T00:30:00")
    conversation.say("Broken", answers=[
        call("transfer_to_reports", {"reason": "r", "context_summary": "s"}),
        call("advance_workflow", {"state": "CHECK", "data": {"number": "BK-9", "seen": "2020-01-07"}}),
        call("advance_workflow", {"state": "CHECK", "data": {"number": "BK-9", "seen": "2020-01-06"}}),
        "Is that right?",
    ])
    assert conversation.workflow == "CHECK"
    assert "seen: is after 2020-01-06" in conversation.transcript()


def test_an_idle_conversation_is_closed_and_days_take_no_time(conversation: Conversation) -> None:
    conversation.say("Hello", answers=["Good morning."])
    assert conversation.wait(timedelta(hours=1), days=2).closings == ("Timeout",)


def test_an_event_begins_a_run_once(conversation: Conversation) -> None:
    step = conversation.send_event("order.shipped", {"carrier": "DHL"}, id="e1", answers=["DHL has it."])
    assert (step.begun_by, step.text) == (("event",), "DHL has it.")
    assert conversation.send_event("order.shipped", {"carrier": "DHL"}, id="e1").begun_by == ()
    conversation.send_event("order.lost", error="event_not_taken")


def test_another_conversation_recalls_a_closed_one(conversation: Conversation) -> None:
    conversation.say("My dog is called Rufus.")
    before = conversation.begin_another()
    assert "Rufus" not in before.say("What is my dog called?").text
    conversation.close()
    after = conversation.begin_another()
    assert after.say("What is my dog called?").text == "Your dog is called Rufus."
    assert "Rufus" in conversation.transcript()
    assert [step.title for step in conversation.steps] == ["say: My dog is called Rufus.", "close"]


def test_a_message_meanwhile_enters_the_run(conversation: Conversation) -> None:
    looks_up = call("order_status", {"number": "A-1001"}, agent="orders")
    message = Meanwhile(say="And A-1002?", during="order_status", while_busy="steer")
    answers = [ASKS, looks_up, "On its way.", "Both are on their way."]
    step = conversation.say("Where is A-1001?", meanwhile=[message], answers=answers)
    assert (step.steered, step.text) == (("And A-1002?",), "Both are on their way.")


def test_an_error_is_expected_by_its_code(conversation: Conversation) -> None:
    assert conversation.say("Hello", answers=[failure("model_refused")], error="model_refused").text == ""
    with pytest.raises(ConversationFailed, match="expected no error, happened the error model_refused"):
        conversation.say("Hello", answers=[failure("model_refused")])


def test_an_answer_that_nobody_asks_for_is_a_failure(conversation: Conversation) -> None:
    with pytest.raises(ConversationFailed, match="Nobody asked for the answer 'And more.'"):
        conversation.say("Hello", answers=["Good morning.", "And more."])


@pytest.mark.parametrize("answers", ["Hello.", call("order_status"), [("order_status", {})], [{"say": "Hello."}]])
def test_answers_of_the_wrong_form_are_refused_with_an_example(conversation: Conversation, answers: Any) -> None:
    with pytest.raises(ConversationFailed, match="is not (a list|an answer). Write .*answers=.call"):
        conversation.say("Hello", answers=answers)


def test_a_decision_about_nothing_is_a_failure(conversation: Conversation) -> None:
    with pytest.raises(ConversationFailed, match="No call waits for a decision about refund"):
        conversation.approve("refund")


def test_the_projects_script_answers_until_the_test_does(conversation: Conversation) -> None:
    assert "Ask me about an order" in conversation.say("Hello").text
    assert "A-1001" in conversation.say("Where is my order A-1001?").text
    assert conversation.say("Hello", answers=["Good morning."]).text == "Good morning."
    with pytest.raises(ConversationFailed, match="The test has no answer for assistant"):
        conversation.say("Hello")


async def _hello(conversation: Conversation) -> None:
    conversation.say("Hello", answers=["Good morning."])


def test_a_conversation_in_an_event_loop_is_refused(conversation: Conversation) -> None:
    import asyncio

    with pytest.raises(ConversationFailed, match="write the test as `def`"):
        asyncio.run(_hello(conversation))
"""

FAILING = """
from baton_testing import Conversation, call


def test_fails(conversation: Conversation) -> None:
    asks, calls = call("ask_orders", {"message": "x"}), call("order_status", {"nr": 3}, agent="orders")
    assert "on its way" in conversation.say("Where is it?", answers=[asks, calls, "Hm.", "No idea."]).text


def test_has_no_answer(conversation: Conversation) -> None:
    conversation.say("Hello", answers=["Good morning."])
    conversation.say("Where is it?")
"""


REPORTS = """
from datetime import date

from pydantic import BaseModel, field_validator

from baton import Agent, Handoff, State, Workflow, now


class Bike(BaseModel):
    number: str
    seen: date | None = None

    @field_validator("seen")
    @classmethod
    def _is_no_later_day(cls, seen: date) -> date:
        if seen > now().date():
            raise ValueError(f"is after {now().date()}")
        return seen


def tell_time() -> str:
    \"\"\"Tell the time.\"\"\"
    return now().isoformat(timespec="seconds")


async def tell_time_in_a_task() -> str:
    \"\"\"Tell the time.\"\"\"
    return now().isoformat(timespec="seconds")


async def file_report(number: str) -> str:
    \"\"\"File it.\"\"\"
    return "Filed."


reports = Agent("reports", "Take it.", description="Takes reports.", workflow=Workflow(
    "report",
    [State("BIKE", "The bike", collects=Bike), State("CHECK", "Agreeing"), State("DONE", "Done", final=True)],
    on_complete=file_report,
))
desk = Agent("desk", "Welcome.", main=True, tools=[tell_time, tell_time_in_a_task], handoffs=[Handoff(reports)])
"""


RECALLS = """scenes:
  message:
    - if: recalled | recollected(said)
      say: '{{ (recalled | recollected(said))[0].quote | second_person }}'
"""


def run_pytest(project: Project, content: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a module of tests in the project, with the plugins of an installation that has only Baton's."""
    (project.folder / "tests" / "test_talk.py").write_text(content)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "baton_project.pytest_plugin", *options]
    return subprocess.run(command, cwd=project.folder, env=environment, capture_output=True, text=True, check=False)


def test_conversations_are_held_and_compared_by_plain_asserts(project: Project) -> None:
    (project.agents / "reports.py").write_text(REPORTS)
    edit(project.folder / "demo.yaml", "scenes:\n  message:\n", RECALLS)
    edit(project.agents / "assistant.yaml", "main: true\n", f"main: true\n{TAKES}")
    ran = run_pytest(project, TESTS)
    assert ran.returncode == 0, ran.stdout
    assert "18 passed" in ran.stdout  # the seventeen above, and the one that a new project has


@pytest.mark.nightly
def test_a_failed_test_shows_the_conversation_with_the_reasons_of_tools(project: Project) -> None:
    ran = run_pytest(project, FAILING, "tests/test_talk.py")
    assert ran.returncode == 1
    assert "failed: the arguments do not fit: 'number' is a required property" in ran.stdout
    assert (
        "The test has no answer for assistant. Add a text or a call of a tool to the `answers` of this step."
        in ran.stdout
    )
    assert "python_conversation.py" not in ran.stdout


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("content", "problem"),
    [("main: true\nid: assistant\n", "assistant.yaml"), ("prompt: [\n", "assistant.yaml")],
    ids=["no prompt", "no YAML"],
)
def test_agents_that_cannot_be_read_fail_the_test_with_file_and_line(
    project: Project, content: str, problem: str
) -> None:
    (project.agents / "assistant.yaml").write_text(content)
    ran = run_pytest(project, FAILING, "tests/test_talk.py", "-x")
    assert ran.returncode == 1
    assert problem in ran.stdout
    assert "Traceback" not in ran.stdout


@pytest.mark.nightly
def test_a_real_model_that_nothing_names_is_an_error_with_the_variable(project: Project) -> None:
    ran = run_pytest(project, FAILING, "tests/test_talk.py", "--baton-model", "real", "-x", BATON_CHAT_MODEL="")
    assert "Set BATON_CHAT_MODEL" in ran.stdout
    assert ran.returncode == 1


@pytest.mark.nightly
def test_a_folder_that_is_no_project_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "test_talk.py").write_text(FAILING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "baton_project.pytest_plugin"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "has [tool.baton]. `baton new NAME` makes one" in ran.stdout


@pytest.mark.nightly
def test_a_new_project_passes_the_strict_checks_of_mypy(project: Project) -> None:
    command = [sys.executable, "-m", "mypy", "--cache-dir", os.devnull]
    ran = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_names_that_the_documentation_imports_exist() -> None:
    pattern = re.compile(r"^ *from (baton|baton_client|baton_testing)((?:\.\w+)*) import ([\w, ]+)$", re.MULTILINE)
    pages = [path.read_text() for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts]
    imported = {
        (first + rest, name)
        for page in pages
        for first, rest, names in pattern.findall(page)
        for name in names.split(", ")
    }
    assert ("baton_testing", "Conversation") in imported
    assert [result for result in sorted(imported) if not hasattr(import_module(result[0]), result[1])] == []


def test_what_the_functions_for_tests_return_is_importable_beside_them() -> None:
    functions = [value for name in baton_testing.__all__ if isfunction(value := getattr(baton_testing, name))]
    returned = {get_type_hints(function)["return"].__name__ for function in functions}
    assert returned == {"ScriptedAnswer"}
    assert returned <= set(baton_testing.__all__)
