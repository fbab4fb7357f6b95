"""One description of broken tools for `baton check`, `baton test` and `baton dev`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from baton_local.environment import applied
from baton_local.project.project_tools import importable
from baton_local.project.reloading import Reloader
from baton_project.check import check_agents
from baton_project.project import Project
from tests.unit.project.conftest import edit
from tests.unit.testing.command import run

BROKEN = {
    "def order_status(:": "SyntaxError: invalid syntax",
    "import shop_prices": "ModuleNotFoundError: No module named 'shop_prices'",
    "LIMIT = int('many')": "ValueError: invalid literal for int() with base 10: 'many'",
    "import json; json.loads('[')": "JSONDecodeError: Expecting value: line 1 column 2 (char 1)",
}


@pytest.mark.parametrize("line", BROKEN)
def test_a_tool_that_cannot_be_imported_is_described_alike_by_check_test_and_dev(project: Project, line: str) -> None:
    tool = project.tools / "shop_tools" / "orders.py"
    messages: list[str] = []
    with applied({**project.make_environment(), "BATON_STAGE": "local"}), importable(project.tools):
        reloader = Reloader(project.agents, project.tools, messages.append)
        reloader.begin()
        edit(tool, "ORDERS = {", f"{line}\nORDERS = {{")
        number = tool.read_text().splitlines().index(line) + 1
        reloader.reload([tool])
    expected = f"tools/shop_tools/orders.py:{number}: {BROKEN[line]}"
    [problem] = check_agents(project)[1]
    assert expected in problem.message
    assert expected in run(project).errors.replace(f"{project.folder}{os.sep}", "")
    assert expected in messages[-1].replace(f"{project.folder}{os.sep}", "")
    assert Path(str(problem.file)).name == "orders.yaml"
