"""The command against the running product: in a terminal, and in a script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command.terminal import Terminal
from tests.e2e.fixtures import NewUser
from tests.fault_model import FaultModel, answers, hangs_after

BATON = [sys.executable, "-c", "from baton_client.command import main; main()"]


@pytest.fixture
def environment(new_user: NewUser) -> dict[str, str]:
    """What tells the command where the server is, and who asks."""
    user = new_user("ada", "agent:write", "document:write", "audit:read")
    return {"BATON_URL": user.cloud.url, "BATON_TOKEN": user.token, "PATH": "/usr/bin:/bin"}


def test_ctrl_c_stops_the_answer_and_the_conversation_goes_on(environment: dict[str, str], model: FaultModel) -> None:
    model.script(hangs_after("Once ", "upon "), answers("The end."))
    with Terminal([*BATON, "chat"], environment) as terminal:
        terminal.read_until(">")
        terminal.type("A story\r")
        terminal.read_until("Once")
        terminal.type("\x03")
        terminal.read_until("(Stopped.)")
        terminal.read_until(">")
        terminal.type("Go on\r")
        terminal.read_until("The end.")
        terminal.read_until(">")
        terminal.type("\x04")
        assert terminal.exit_code() == 0
        assert terminal.is_clean


def test_ctrl_c_twice_leaves_a_clean_terminal(environment: dict[str, str]) -> None:
    with Terminal([*BATON, "chat"], environment) as terminal:
        terminal.read_until(">")
        terminal.type("\x03")
        terminal.read_until("again leaves")
        terminal.read_until(">")
        terminal.type("\x03")
        assert terminal.exit_code() == 130
        assert terminal.is_clean


def test_a_folder_is_applied_twice_and_changed_once(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "shop.yaml").write_text(
        "id: shop\nname: Shop\ndescription: Sells.\nmain: true\nsystem_prompt: Sell.\nsub_agents: [stock]\n"
    )
    (tmp_path / "agents" / "stock.yaml").write_text(
        "id: stock\nname: Stock\ndescription: Counts.\nsystem_prompt: Count.\n"
    )
    first, second = (_json(environment, "apply", str(tmp_path), "--yes", "--json") for _ in range(2))
    assert [item["error"] for item in first] == [None, None]
    assert [item["action"] for item in second] == ["none", "none"]


def _json(environment: dict[str, str], *arguments: str) -> list[dict[str, object]]:
    ended = subprocess.run([*BATON, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    items: list[dict[str, object]] = json.loads(ended.stdout)["items"]
    return items
