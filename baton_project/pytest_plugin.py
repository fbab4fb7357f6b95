"""A pytest plugin with fixtures for tests in Python of a project's conversations.

It is loaded wherever pytest and the distribution are installed, so it imports most modules only in the fixtures.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from baton_testing import Conversation, ConversationMaker
    from baton_testing.models.choice import AnsweringModel

_CONVERSATIONS = pytest.StashKey["list[Conversation]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--baton-model``."""
    parser.getgroup("baton").addoption(
        "--baton-model",
        choices=("scripted", "real"),
        default="scripted",
        help="The source of agents' answers: those of the test, or the model that BATON_CHAT_MODEL names.",
    )


@pytest.fixture
def begin_conversation(request: pytest.FixtureRequest) -> Iterator[ConversationMaker]:
    """Yield a function that begins conversations with the agents of the test's project."""
    from baton_project.errors import ProjectProblem
    from baton_project.extras import TEST, require_extra
    from baton_project.project import Project

    with ExitStack() as opened:
        try:
            require_extra(TEST, "test")
            project = Project.find(request.path.parent)
            environment = project.make_environment()
        except ProjectProblem as problem:
            raise pytest.UsageError(str(problem)) from None
        from baton_local.demo_model import SCRIPT
        from baton_testing.errors import CannotRun
        from baton_testing.project_agents import AgentPlace, check_functions
        from baton_testing.python_conversation import Conversation

        agent_place = AgentPlace.of(project.folder, project.agents, project.tools, environment)
        opened.enter_context(agent_place.enter())
        try:
            agents = agent_place.load()
            check_functions(agents)
        except CannotRun as problem:
            pytest.fail(str(problem), pytrace=False)
        script = Path(environment.get("BATON_DEMO_SCRIPT") or SCRIPT)
        conversations = request.node.stash.setdefault(_CONVERSATIONS, [])

        def begin(**options: Any) -> Conversation:
            model = _make_model(request.config.getoption("--baton-model"), script)
            name = f"{request.node.nodeid}#{len(conversations)}"
            conversation = Conversation(agents, model, name=name, folder=request.path.parent, **options)
            opened.callback(conversation.end)
            conversations.append(conversation)
            return conversation

        yield begin


@pytest.fixture
def conversation(begin_conversation: ConversationMaker) -> Conversation:
    """Return a conversation with the project's main agent."""
    return begin_conversation()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the transcripts of a failed test's conversations to its report."""
    report = yield
    if report.failed:
        for conversation in item.stash.get(_CONVERSATIONS, ()):
            report.sections.append(("conversation", conversation.transcript()))
    return report


def _make_model(kind: str, script: Path) -> AnsweringModel:
    """Return the model of ``kind``, an option of ``--baton-model``.

    ``script`` is the demo model's, which a scripted model uses in conversations for which the test has no answers.
    """
    from baton_testing.models.choice import OF_THIS_MACHINE, AnsweringModel

    if kind == "scripted":
        from baton_testing.conversation_ports import make_token_counter
        from baton_testing.models.demo_script import DemoScriptModel, read_engine
        from baton_testing.models.own_time import OwnTime
        from baton_testing.models.scripted import ScriptedModel

        def read_script() -> DemoScriptModel:
            return DemoScriptModel(read_engine(script), make_token_counter(), OwnTime())

        return AnsweringModel(ScriptedModel(read_script=read_script), OF_THIS_MACHINE)
    from baton_testing.models.real import RealModel

    real = RealModel()
    return AnsweringModel(real, real.names, real.aclose, real.notes)
