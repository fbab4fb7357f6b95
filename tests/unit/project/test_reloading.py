"""Hot reload, without the watching."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from baton.adapters.tools.python_tools import PythonTools
from baton.composition.outside_clients import make_functions
from baton.composition.startup import event_loop
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import PythonTool
from baton_local.environment import applied
from baton_local.project import shared_agents
from baton_local.project.project_tools import importable
from baton_local.project.reloading import Reloader
from baton_project.new import IN_PYTHON
from baton_project.project import Project
from tests.unit.project.conftest import edit
from tests.unit.project.misspelt import MISSPELT


class Developer:
    """A developer who edits files of a project, of which the running agents are ``agents``."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.tools = PythonTools(make_functions())
        self.reports: list[str] = []
        self.reloader = Reloader(project.agents, project.tools, self.reports.append)

    @property
    def orders(self) -> AgentDefinition:
        result = shared_agents.get_shared_agents().get("orders")
        assert result is not None
        return result

    @property
    def problems(self) -> list[str]:
        results: list[str] = self.reloader.state["problems"]
        return results

    def edit_file(self, file: str, old: str, new: str) -> None:
        path = self.project.folder / file
        edit(path, old, new)
        self.reloader.reload([path])

    def write_file(self, file: str, text: str) -> None:
        path = self.project.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.reloader.reload([path])

    def remove_file(self, file: str) -> None:
        path = self.project.folder / file
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.reloader.reload([path])

    def state_of(self, agent: AgentDefinition, number: str) -> str:
        """Call the agent's tool."""
        tool = agent.tools[0]
        assert isinstance(tool, PythonTool)
        return event_loop.run(self.tools.call(tool, tool.name, {"number": number}, None)).text  # type: ignore[arg-type]


@pytest.fixture
def developer(project: Project) -> Iterator[Developer]:
    with applied({**project.make_environment(), "BATON_STAGE": "local"}), importable(project.tools):
        yield Developer(project)


ORDERS = "tools/shop_tools/orders.py"


def test_an_edit_of_an_agent_is_there_at_once_and_a_turn_that_runs_keeps_its_own(developer: Developer) -> None:
    running = developer.orders
    developer.edit_file("agents/orders.yaml", "name: Orders", "name: Logistics")
    assert (running.name, developer.orders.name, developer.problems) == ("Orders", "Logistics", [])
    assert developer.reports == ["Reloaded: assistant, orders"]


def test_an_edit_of_a_tool_is_there_for_the_next_turn_and_not_for_one_that_runs(developer: Developer) -> None:
    running = developer.orders
    assert "is on its way" in developer.state_of(running, "A-1001")
    developer.edit_file(ORDERS, "is on its way", "has arrived at")
    assert "has arrived at" in developer.state_of(developer.orders, "A-1001")
    assert "is on its way" in developer.state_of(running, "A-1001")


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("agents/orders.yaml", "name: Orders", "name: [", "agents/orders.yaml:"),
        (
            "agents/orders.yaml",
            "id: orders",
            "id: assistant",
            "3: id: assistant.yaml defines the agent 'assistant' too: give",
        ),
        ("agents/orders.yaml", ":order_status", ":state", "orders.yaml:12: tools.0: order_status cannot be"),
        (ORDERS, "ORDERS = {", "ORDERS = 1 / 0, {", "orders.py:7: ZeroDivisionError"),
        (ORDERS, "ORDERS = {", "ORDERS = = {", "orders.py:7: SyntaxError"),
        (ORDERS, "ORDERS = {", "raise SystemExit(3)\nORDERS = {", "orders.py:7: SystemExit: 3"),
        (ORDERS, "(number: ", "(other, number: ", "order_status cannot be used: order_status: the parameter other"),
    ],
)
def test_what_cannot_be_used_is_reported_and_what_was_there_goes_on_until_it_is_mended(
    developer: Developer, file: str, old: str, new: str, expected: str
) -> None:
    before = developer.orders
    assert "is on its way" in developer.state_of(before, "A-1001")
    developer.edit_file(file, old, new)
    assert expected in "\n".join(developer.problems)
    assert developer.reports[-1].startswith("Not reloaded; what was there before goes on until this is mended:\n")
    assert developer.orders is before
    assert "is on its way" in developer.state_of(developer.orders, "A-1001")
    developer.edit_file(file, new, old)
    assert (developer.problems, developer.reports[-1]) == ([], "Reloaded: assistant, orders")


def test_a_tool_that_did_not_work_at_the_start_hinders_no_edit_of_an_agent(project: Project) -> None:
    edit(project.folder / ORDERS, "ORDERS = {", "ORDERS = 1 / 0, {")
    with applied({**project.make_environment(), "BATON_STAGE": "local"}), importable(project.tools):
        developer = Developer(project)
        developer.reloader.begin()
        developer.edit_file("agents/orders.yaml", "name: Orders", "name: Logistics")
        assert developer.orders.name == "Logistics"
        developer.edit_file(ORDERS, "ORDERS = 1 / 0, {", "ORDERS = {")
        assert developer.problems == []


ENTRY_POINT = "entry_point: shop_tools.orders:order_status"
PARCELS = """
def order_status(number: str) -> str:
    return f"The parcel {number} is on its way."
"""


def test_a_package_that_is_new_can_be_used_at_once(developer: Developer) -> None:
    developer.write_file("tools/parcels/__init__.py", "")
    developer.write_file("tools/parcels/states.py", PARCELS)
    developer.edit_file("agents/orders.yaml", ENTRY_POINT, "entry_point: parcels.states:order_status")
    assert developer.problems == []
    assert developer.state_of(developer.orders, "7") == "The parcel 7 is on its way."


def test_a_module_that_is_new_can_be_used_by_one_that_was_there(developer: Developer) -> None:
    developer.write_file("tools/shop_tools/parcels.py", PARCELS)
    developer.write_file(ORDERS, "from shop_tools.parcels import order_status as order_status\n")
    assert developer.problems == []
    assert developer.state_of(developer.orders, "7") == "The parcel 7 is on its way."


def test_a_new_module_that_raises_changes_nothing_and_is_reported_with_its_line(developer: Developer) -> None:
    developer.write_file("tools/parcels/states.py", f"raise RuntimeError('no key')\n{PARCELS}")
    developer.edit_file("agents/orders.yaml", ENTRY_POINT, "entry_point: parcels.states:order_status")
    assert "parcels/states.py:1: RuntimeError: no key" in developer.problems[0]
    assert "is on its way" in developer.state_of(developer.orders, "A-1001")
    developer.write_file("tools/parcels/states.py", PARCELS)
    assert developer.state_of(developer.orders, "7") == "The parcel 7 is on its way."


@pytest.mark.parametrize(
    ("removed", "expected"),
    [
        (ORDERS, "order_status cannot be used: ModuleNotFoundError: No module named 'shop_tools.ord"),
        ("tools/shop_tools", "order_status cannot be used: there is no package 'shop_tools' in "),
        ("tools", "order_status cannot be used: there is no package 'shop_tools' in "),
    ],
)
def test_what_is_removed_goes_on_until_no_agent_needs_it(developer: Developer, removed: str, expected: str) -> None:
    assert "is on its way" in developer.state_of(developer.orders, "A-1001")
    developer.remove_file(removed)
    assert expected in developer.problems[0]
    assert developer.problems[0].startswith(str(developer.project.agents / "orders.yaml:12: tools.0: "))
    assert "is on its way" in developer.state_of(developer.orders, "A-1001")
    file = developer.project.agents / "orders.yaml"
    developer.write_file("agents/orders.yaml", file.read_text().partition("tools:")[0])
    assert (developer.problems, developer.orders.tools) == ([], ())


def test_packages_that_the_developer_has_chosen_stay_the_only_ones(project: Project) -> None:
    chosen = {**project.make_environment(), "BATON_TOOL_PACKAGES": "other_tools", "BATON_STAGE": "local"}
    with applied(chosen), importable(project.tools):
        developer = Developer(project)
        developer.edit_file("agents/orders.yaml", "name: Orders", "name: Logistics")
        assert "is in none of the packages that BATON_TOOL_PACKAGES names (other_tools)" in developer.problems[0]


AGENTS = "agents/assistant.py"


@pytest.fixture
def python_developer(project: Project) -> Iterator[Developer]:
    """A developer of the same agents, in Python."""
    for path in (project.agents / "assistant.yaml", project.agents / "orders.yaml"):
        path.unlink()
    shutil.copytree(IN_PYTHON / "agents", project.agents, dirs_exist_ok=True)
    with applied({**project.make_environment(), "BATON_STAGE": "local"}), importable(project.tools):
        yield Developer(project)


def test_an_edit_of_a_module_of_agents_is_there_for_the_next_turn_and_not_for_one_that_runs(
    python_developer: Developer,
) -> None:
    running = python_developer.orders
    assert "is on its way" in python_developer.state_of(running, "A-1001")
    python_developer.edit_file(AGENTS, "is on its way", "has arrived at")
    assert (python_developer.problems, python_developer.reports) == ([], ["Reloaded: assistant, orders"])
    assert "has arrived at" in python_developer.state_of(python_developer.orders, "A-1001")
    assert "is on its way" in python_developer.state_of(running, "A-1001")


def test_a_tool_that_a_module_of_agents_imports_is_there_for_the_next_turn_too(python_developer: Developer) -> None:
    python_developer.edit_file(
        AGENTS, "import Agent, tool\n", "import Agent, tool\nfrom shop_tools.orders import ORDERS\n"
    )
    python_developer.edit_file(AGENTS, "\nORDERS = {", "\nOTHERS = {")
    python_developer.edit_file(ORDERS, "is on its way", "has arrived at")
    assert python_developer.problems == []
    assert "has arrived at" in python_developer.state_of(python_developer.orders, "A-1001")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('    "orders",', '    "Orders",', "assistant.py:16: id: String should match pattern"),
        ("ORDERS = {", "ORDERS = 1 / 0, {", "assistant.py:5: ZeroDivisionError: division by zero"),
        ("ORDERS = {", "ORDERS = = {", "assistant.py:5: SyntaxError: invalid syntax"),
        (
            "(number: str)",
            "(number: str, other)",
            "assistant.py:8: order_status cannot be used: order_status: the parameter other has no type.",
        ),
        ("@tool\n", "@tool(approval='always', asks='Find {nubmer}?')\n", f"agents/assistant.py:8: {MISSPELT}"),
        ("(number: str)", "(number: Path)", "assistant.py:9: NameError: name 'Path' is not defined"),
    ],
)
def test_a_module_that_cannot_be_used_is_reported_and_the_agents_before_go_on(
    python_developer: Developer, old: str, new: str, expected: str
) -> None:
    before = python_developer.orders
    python_developer.edit_file(AGENTS, old, new)
    assert expected in "\n".join(python_developer.problems)
    assert python_developer.orders is before
    assert "is on its way" in python_developer.state_of(before, "A-1001")
    python_developer.edit_file(AGENTS, new, old)
    assert python_developer.problems == []
