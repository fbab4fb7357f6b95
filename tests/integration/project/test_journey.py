"""A Python developer on a machine without this repository: install, new, check, dev, edit; and an upgrade."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import zipfile
from pathlib import Path

import pytest

from baton_local.root import ROOT
from tests.integration.project.machine import Machine
from tests.unit.docs.pages import block

pytestmark = pytest.mark.nightly

MB = 1024 * 1024
PRODUCT = "baton_local/product"
RELEASES = sorted((Path(__file__).parent / "releases").iterdir())
"""Projects, and their data, as released versions left them."""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine.with_wheels(tmp_path_factory.mktemp("machine"))


def test_the_wheel_has_what_a_project_needs_and_nothing_else(machine: Machine) -> None:
    (wheel,) = (machine.folder.parent / "wheels").glob("baton_conversations-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if ".dist-info/" not in name]
        size = sum(entry.file_size for entry in packed.infolist())
    assert {name.partition("/")[0] for name in names} == {
        "baton",
        "baton_deployment",
        "baton_local",
        "baton_project",
        "baton_testing",
    }
    product = [name.removeprefix(f"{PRODUCT}/") for name in names if name.startswith(PRODUCT)]
    assert {name.partition("/")[0] for name in product} == {
        *("LICENSE", "README.md", "account.yaml", "pyproject.toml", "samconfig.toml", "template.yaml", "uv.lock"),
        *("clients", "docs", "functions", "layers", "shared", "statemachines"),
    }
    assert {"/".join(name.split("/")[1:-1][:3]) for name in product if name.startswith("clients/")} == {
        *("web", "web/dist", "web/dist/chunks", "web/console/dist")
    }
    assert [name for name in names if "__pycache__" in name or ("/tests/" in name and "skeleton" not in name)] == []
    assert [name for name in names if name.endswith(".map")] == []
    assert wheel.stat().st_size < 8 * MB
    assert size < 25 * MB


def test_the_first_commands_of_the_readme_make_a_project_and_test_it(machine: Machine, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", ROOT, tmp_path / "baton"], check=True)
    commands = block(ROOT / "README.md", "project").replace("baton dev ", "baton check ")
    message = machine.run(commands, tmp_path / "baton")
    assert message.returncode == 0, message.stderr
    assert "2 agents, no problems." in message.stdout


@pytest.mark.parametrize("options", [["my-assistant"], ["my-coded-assistant", "--python"]], ids=["yaml", "python"])
def test_a_project_is_made_checked_and_tested(machine: Machine, options: list[str]) -> None:
    instance = machine.baton("new", *options)
    assert (instance.returncode, instance.stderr) == (0, "")
    again = machine.baton("new", *options)
    assert (again.returncode, "not empty" in again.stderr) == (2, True)
    checked = machine.baton("check", "--json", cwd=machine.folder / options[0])
    report = {"ok": True, "agents": ["assistant", "orders"], "problems": [], "deployment": []}
    assert json.loads(checked.stdout) == report
    tested = machine.baton("test", cwd=machine.folder / options[0])
    assert (tested.returncode, tested.stderr) == (0, "")


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_project_of_an_earlier_release_goes_on_and_its_edits_are_used_by_the_next_turn(
    machine: Machine, release: Path
) -> None:
    project = machine.folder / f"of-{release.name}"
    shutil.copytree(release / "project", project)
    shutil.copytree(release / "data", project / ".baton" / "data")
    tool, agent = project / "tools/shop_tools/orders.py", project / "agents/assistant.yaml"
    document, right = project / "documents/orders/returns.md", agent.read_text()
    with machine.developing(project) as user:
        existing = "Documents that agents know now: "
        assert user.wait_for_line(existing) == "documents/orders/returns.md"
        assert "within 30 days" in user.ask("s-three", "How long may I return goods?")
        document.write_text(document.read_text().replace("30 days", "60 days"))
        assert user.wait_for_line(existing) == "documents/orders/returns.md"
        assert "within 60 days" in user.ask("s-four", "How long may I return goods?")
        before = ["Where is my order A-1002?", "The order A-1002 is being packed."]
        assert user.list_messages("s-one") == before
        tool.write_text(tool.read_text().replace("is being packed", "was handed over"))
        assert user.wait_for_reload() == "Reloaded: assistant, orders\n"
        assert user.ask("s-one", "And order A-1002 now?") == "The order A-1002 was handed over."
        agent.write_text(right.replace("main: true", "mian: true"))
        assert user.wait_for_reload() == "agents/assistant.yaml:6: mian: there is no such field (did you mean main?)\n"
        assert user.ask("s-two", "Where is my order A-1001?") == "The order A-1001 is on its way."
        agent.write_text(right)
        assert user.wait_for_reload() == "Reloaded: assistant, orders\n"
        assert user.list_messages("s-one")[:2] == before
        user.process.send_signal(signal.SIGINT)
        out, _ = user.process.communicate(timeout=60)
        assert (user.process.returncode, out[-9:]) == (0, "Stopped.\n")
