"""The command against the running product: in a terminal, and in a script."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.command.terminal import Terminal
from tests.e2e.fixtures import NewUser
from tests.fault_model import FaultModel, answers, hangs_after

BATON = [sys.executable, "-c", "from baton_client.command import main; main()"]


@pytest.fixture
def environment(new_user: NewUser) -> dict[str, str]:
    """The command's variables for the server and the user."""
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


@pytest.mark.nightly
def test_ctrl_c_twice_leaves_a_clean_terminal(environment: dict[str, str]) -> None:
    with Terminal([*BATON, "chat"], environment) as terminal:
        terminal.read_until(">")
        terminal.type("\x03")
        terminal.read_until("again leaves")
        terminal.read_until(">")
        terminal.type("\x03")
        assert terminal.exit_code() == 130
        assert not re.search("(?i)error|traceback", terminal.rest())
        assert terminal.is_clean


@pytest.mark.nightly
def test_ctrl_c_twice_leaves_an_answer_that_does_not_stop() -> None:
    """Of a server that begins a run, and then says nothing, not even to the request to stop it."""
    with (
        silent_server() as url,
        Terminal([*BATON, "chat", "-m", "Hi"], {"BATON_URL": url, "BATON_TOKEN": "x"}) as terminal,
    ):
        terminal.read_until("Baton:")
        terminal.type("\x03")
        terminal.read_until("again leaves")
        terminal.type("\x03")
        assert terminal.exit_code() == 130
        assert not re.search("(?i)error|traceback", terminal.rest())
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


@contextmanager
def silent_server() -> Iterator[str]:
    """The address of a server that answers every request with the beginning of a message."""
    done = threading.Event()
    event = {"type": "TEXT_MESSAGE_START", "messageId": "m", "metadata": {"seq": 1}}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if self.path != "/v1/runs":
                done.wait()
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            done.wait()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        done.set()
        server.shutdown()
        thread.join()


def _json(environment: dict[str, str], *arguments: str) -> list[dict[str, object]]:
    process = subprocess.run([*BATON, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    items: list[dict[str, object]] = json.loads(process.stdout)["items"]
    return items
