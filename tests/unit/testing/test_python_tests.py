"""Conversations in tests in Python, and their fixtures for pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from baton_project.project import Project

TESTS = """
from datetime import timedelta

import pytest

from baton_testing import Conversation, ConversationFailed, ConversationMaker, ToolFailed, User, answer, call, failure

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


def test_an_idle_conversation_is_closed_and_days_take_no_time(conversation: Conversation) -> None:
    conversation.say("Hello", answers=["Good morning."])
    assert conversation.wait(timedelta(days=2)).closings == ("Timeout",)


def test_an_error_is_expected_by_its_code(conversation: Conversation) -> None:
    assert conversation.say("Hello", answers=[failure("model_refused")], error="model_refused").text == ""
    with pytest.raises(ConversationFailed, match="expected no error, happened the error model_refused"):
        conversation.say("Hello", answers=[failure("model_refused")])


def test_an_answer_that_nobody_asks_for_is_a_failure(conversation: Conversation) -> None:
    with pytest.raises(ConversationFailed, match="Nobody asked for the answer 'And more.'"):
        conversation.say("Hello", answers=["Good morning.", "And more."])


def test_a_decision_about_nothing_is_a_failure(conversation: Conversation) -> None:
    with pytest.raises(ConversationFailed, match="No call waits for a decision about refund"):
        conversation.approve("refund")


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
    conversation.say("Where is it?")
"""


def run_pytest(project: Project, content: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a module of tests in the project, with the plugins of an installation that has only Baton's."""
    (project.folder / "tests" / "test_talk.py").write_text(content)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "baton_project.pytest_plugin", *options]
    return subprocess.run(command, cwd=project.folder, env=environment, capture_output=True, text=True, check=False)


def test_conversations_are_held_and_compared_by_plain_asserts(project: Project) -> None:
    ran = run_pytest(project, TESTS)
    assert ran.returncode == 0, ran.stdout
    assert "8 passed" in ran.stdout  # the seven above, and the one that a new project has


def test_a_failed_test_shows_the_conversation_with_the_reasons_of_tools(project: Project) -> None:
    ran = run_pytest(project, FAILING, "tests/test_talk.py")
    assert ran.returncode == 1
    assert "failed: the arguments do not fit: 'number' is a required property" in ran.stdout
    assert "The test has no answer for assistant. Add one under `answers`." in ran.stdout
    assert "python_conversation.py" not in ran.stdout


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


def test_a_real_model_that_nothing_names_is_an_error_with_the_variable(project: Project) -> None:
    ran = run_pytest(project, FAILING, "tests/test_talk.py", "--baton-model", "real", "-x", BATON_CHAT_MODEL="")
    assert "Set BATON_CHAT_MODEL" in ran.stdout
    assert ran.returncode == 1


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
