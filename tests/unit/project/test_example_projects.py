"""The projects in `examples/projects`: nothing is wrong with them, and their conversations pass."""

from __future__ import annotations

import asyncio
import runpy
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from packaging.requirements import Requirement

from baton import __version__
from baton.adapters.agents.agent_files import AgentFiles
from baton.composition.startup.environment import current
from baton.domain.agents.agent_code import HookPoint
from baton.domain.yaml_text import read_yaml
from baton_local.root import ROOT
from baton_project.check import check_agents
from baton_project.project import Project
from tests.unit.evals.command import run as evaluate
from tests.unit.testing.command import run

FOLDER = ROOT / "examples" / "projects"
AGENTS = {
    "booking": ["booking", "host"],
    "gateway": ["gateway"],
    "planner": ["planner", "researcher"],
    "research": ["compare", "figures", "library", "research"],
    "shop": ["shop", "support", "workshop"],
    "support": ["faq", "repairs", "support"],
    "support-yaml": ["faq", "repairs", "support"],
}


@pytest.fixture(params=sorted(AGENTS))
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """One of the projects, in a separate execution environment."""
    for name in ("BATON_AGENTS_DIR", "BATON_ALLOWED_HOSTS", "BATON_DEFAULT_AGENT", "BATON_TOOL_PACKAGES"):
        monkeypatch.delenv(name, raising=False)
    token = current.set(f"example {request.node.name}")
    yield Project.find(FOLDER / request.param)
    current.reset(token)


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The services of the gateway, in a thread of this process."""
    app = runpy.run_path(str(FOLDER / "gateway" / "services.py"))["services"].streamable_http_app()
    with socket.create_server(("127.0.0.1", 0)) as subscriber:
        monkeypatch.setenv("SERVICES_URL", f"http://127.0.0.1:{subscriber.getsockname()[1]}")
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [subscriber]})
        thread.start()
        yield
        server.should_exit = server.force_exit = True
        thread.join()


def test_every_project_is_tried() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/pyproject.toml")} == AGENTS.keys()


@pytest.mark.usefixtures("services")
def test_nothing_is_wrong_with_a_project(example: Project) -> None:
    assert check_agents(example) == (AGENTS[example.name], [])


def test_the_conversations_of_a_project_pass(example: Project) -> None:
    ran = run(example, "--jobs", "1")
    assert ran.code == 0, f"{ran.output}{ran.errors}"


def test_connections_of_several_functions_reach_the_same_bookings() -> None:
    """The page's socket and the HTTP API open a resource each."""
    opened = runpy.run_path(str(FOLDER / "booking" / "agents" / "host.py"))["bookings"]

    async def book_and_list() -> list[tuple[str]]:
        one, other = opened(), opened()
        of_page, of_http = await anext(one), await anext(other)
        with of_page.connection as connection:
            connection.execute("INSERT INTO bookings (key, name) VALUES ('k', 'garden')")
        names = of_http.connection.execute("SELECT name FROM bookings").fetchall()
        await one.aclose()
        await other.aclose()
        return names

    assert asyncio.run(book_and_list()) == [("garden",)]


@pytest.mark.parametrize("name", sorted(path.parent.name for path in FOLDER.glob("*/evals")))
def test_the_cases_of_a_project_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("BATON_AGENTS_DIR", "BATON_ALLOWED_HOSTS", "BATON_DEFAULT_AGENT", "BATON_TOOL_PACKAGES"):
        monkeypatch.delenv(variable, raising=False)
    token = current.set(f"cases of {name}")
    ran = evaluate(Project.find(FOLDER / name), str(FOLDER / name / "evals"))
    current.reset(token)
    assert ran.code == 0, f"{ran.output}{ran.errors}"


def test_documents_belong_to_agents_of_their_project(example: Project) -> None:
    owners = {path.parent.name for path in example.documents.rglob("*") if path.is_file()}
    assert owners <= set(AGENTS[example.name])


def test_a_project_needs_this_version_and_fits_its_folder(example: Project) -> None:
    assert (example.name, example.requirements) == (example.folder.name, ())
    lines = (example.folder / "pyproject.toml").read_text().splitlines()
    needed = next(line.split('"')[1] for line in lines if line.startswith("dependencies"))
    assert Requirement(needed).specifier.contains(__version__)


@pytest.mark.parametrize("path", ["demo.yaml", "libraries/rules/returns.md"])
def test_support_in_yaml_has_the_files_of_support_in_python(path: str) -> None:
    in_python, in_yaml = ((FOLDER / name / path).read_text() for name in ("support", "support-yaml"))
    assert in_python == in_yaml


def test_support_in_yaml_is_tested_by_the_conversations_of_support_in_python() -> None:
    names = ("support", "support-yaml")
    tests = [read_yaml((FOLDER / name / "tests/support.yaml").read_text()).values for name in names]
    in_python, in_yaml = (test["conversations"] for test in tests)
    assert in_python == in_yaml


def test_support_in_python_has_at_most_40_lines() -> None:
    """A tool, an approval, documents, a handoff, a typed answer and a guardrail."""
    modules = list((FOLDER / "support").rglob("*.py"))
    assert sum(len(module.read_text().splitlines()) for module in modules) <= 40


@pytest.mark.parametrize("text", ["My LAWYER will write to you.", "My lamp is broken."])
def test_the_guardrails_of_support_in_python_and_in_yaml_judge_alike(text: str) -> None:
    [support] = [item for item in AgentFiles.load(FOLDER / "support" / "agents").all() if item.main]
    [guardrail] = support.code.at(HookPoint.INPUT_GUARDRAIL)
    verdict = guardrail.function(text)
    judged = runpy.run_path(str(FOLDER / "support-yaml" / "no_lawsuits.py"))["judge"](text)
    assert judged.get("sentence") == (verdict.sentence if verdict is not None else None)


def test_support_has_the_same_agents_in_both() -> None:
    in_python = _definitions(AgentFiles.load(FOLDER / "support" / "agents"))
    in_yaml = _definitions(AgentFiles.load(FOLDER / "support-yaml" / "agents"))
    assert in_python == in_yaml


def _definitions(files: AgentFiles) -> list[dict[str, Any]]:
    """Return the agents without the names of Python's functions and the titles of its types."""
    return [
        agent.model_dump(exclude={"tools", "answer_schema", "code", "guardrails"})
        | {"approvals": [getattr(tool, "requires_approval", None) for tool in agent.tools]}
        | {"answers": (agent.answer_schema or {}).get("required")}
        for agent in files.all()
    ]
