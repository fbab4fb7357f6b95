"""``breakpoint()`` stops in an agent's ``run`` and in its tools, in tests and in the local cloud."""

from __future__ import annotations

import io
import pdb
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from baton import Agent, RunContext, tool
from baton.composition.startup import event_loop
from baton_project.project import Project
from tests.harness.coded import make_coded_harness
from tests.unit.testing.command import run, write_conversation

CODE = '''
from baton import Agent, RunContext, tool


@tool
async def double(number: int) -> int:
    """Double a number."""
    result = 2 * number
    breakpoint()
    return result


doubler = Agent("doubler", "You double numbers.", main=True, tools=[double])


@doubler.run
async def answer(context: RunContext, message: str) -> str:
    before = message.upper()
    breakpoint()
    after = await context.call(double, number=4)
    return f"{before} {after}"
'''


class Debugger:
    """A developer at the prompt of pdb, who types the same at each stop."""

    def __init__(self, *commands: str) -> None:
        self.output = io.StringIO()
        self.threads: list[str] = []
        self._commands = commands

    def stop(self, *args: object, **kwargs: object) -> None:
        """Stop in the caller, as ``sys.breakpointhook``."""
        self.threads.append(threading.current_thread().name)
        typed = io.StringIO("\n".join([*self._commands, "continue", ""]))
        pdb.Pdb(stdin=typed, stdout=self.output, nosigint=True, readrc=False).set_trace(sys._getframe(1))


@pytest.fixture
def debugger(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Debugger]:
    def begin(*commands: str) -> Debugger:
        result = Debugger(*commands)
        monkeypatch.setattr(sys, "breakpointhook", result.stop)
        return result

    return begin


def test_a_debugger_stops_in_run_and_in_a_tool_of_a_conversation_test(
    project: Project, debugger: Callable[..., Debugger]
) -> None:
    (project.folder / "agents" / "doubler.py").write_text(CODE)
    path = write_conversation(
        project, {"say": "Four", "expect": [{"says": "FOUR 8"}]}, conversation={"agent": "doubler"}
    )
    pdb_session = debugger("p 'seen', locals().get('before'), locals().get('result')", "next")
    ran = run(project, path, "--jobs", "1")
    assert ran.code == 0, ran.output
    assert "('seen', 'FOUR', None)" in pdb_session.output.getvalue()
    assert "('seen', None, 8)" in pdb_session.output.getvalue()
    assert f"{Path('agents') / 'doubler.py'}" in pdb_session.output.getvalue()
    assert pdb_session.threads == [threading.main_thread().name] * 2


def test_a_fault_in_run_is_named_with_file_and_line(project: Project) -> None:
    code = CODE.replace("    before = message.upper()\n", "    before = message.higher()\n")
    (project.folder / "agents" / "doubler.py").write_text(code)
    path = write_conversation(project, {"say": "Four"}, conversation={"agent": "doubler"})
    ran = run(project, path, "--jobs", "1")
    line = code.splitlines().index("    before = message.higher()") + 1
    assert ran.code == 1
    [note] = list_notes(ran.output)
    assert note.endswith(f"agents/doubler.py:{line}: AttributeError: 'str' object has no attribute 'higher'")


@pytest.mark.parametrize(
    ("code", "line", "reason"),
    [
        ("    return 12", False, "TypeError: run of doubler returned int; without output_type it returns text or None"),
        ("    pass", False, "ValueError: run of doubler has neither returned a text nor shown one"),
        ("    context.say('Hello')", True, "context.say was not awaited"),
        ("    await context.call('halve')", True, "ToolFailed: Doubler has no tool halve"),
        ("    await context.call(double, numbr=4)", True, "ToolFailed: "),
        ("    await context.ask('nobody', 'Hello')", True, "ToolFailed: "),
    ],
)
def test_a_wrong_use_of_run_is_named_with_its_reason(project: Project, code: str, line: bool, reason: str) -> None:
    module = CODE.partition("    before =")[0] + code + "\n"
    (project.folder / "agents" / "doubler.py").write_text(module)
    path = write_conversation(project, {"say": "Four"}, conversation={"agent": "doubler"})
    ran = run(project, path, "--jobs", "1")
    assert ran.code == 1
    [note] = list_notes(ran.output)
    where = f"agents/doubler.py:{len(module.splitlines())}: " if line else ""
    assert f"{where}{reason}" in note


def list_notes(output: str) -> list[str]:
    """Return the notes of a report, each on one line."""
    joined = output.replace("\n", " ")
    return [part.partition("    > ")[0].strip() for part in joined.split("note: ")[1:]]


def test_a_debugger_stops_in_the_thread_in_which_the_local_cloud_runs_agents(debugger: Callable[..., Debugger]) -> None:
    @tool
    async def double(number: int) -> int:
        """Double a number."""
        breakpoint()
        return 2 * number

    agent = Agent("assistant", "Double.", main=True, tools=[double])

    @agent.run
    async def answer(context: RunContext, message: str) -> str:
        breakpoint()
        return f"{await context.call(double, number=4)}"

    pdb_session = debugger("p message if 'message' in dir() else number", "next")

    async def converse() -> str:
        return (await make_coded_harness(agent).say("m1", "Four")).text

    assert event_loop.run(converse()) == "8"
    assert "'Four'" in pdb_session.output.getvalue()
    assert pdb_session.threads == ["baton-loop", "baton-loop"]
