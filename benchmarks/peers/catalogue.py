"""The measured projects (peers), and their processes in separate environments."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baton_local.root import ROOT

FOLDER = Path(__file__).parent
ENVIRONMENTS = ROOT / ".baton" / "peers"
PATIENCE_SECONDS = 180.0
"""The longest wait for a report of a driver."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A project with one of its stores."""

    name: str
    script: str
    """The driver's file name, without ``.py``."""
    requirements: str = ""
    """The file of its requirements, without ``.txt``; empty for Baton, which uses this environment."""
    store: str = ""
    """The value of ``PEER_STORE``."""
    keys: tuple[str, ...] = ("PK", "SK")
    """The names of the attributes of its table's key."""
    python: str = sys.executable
    """The Python of its environment, as an argument of ``uv venv -p``."""
    stored_in: str = "DynamoDB"
    package: str = ""
    """The package whose version is shown; empty for Baton."""

    @property
    def has_metered_store(self) -> bool:
        """Whether requests to its store cost units of DynamoDB or S3."""
        return self.stored_in != "SQLite"

    def find_version(self) -> str:
        """Return the package and its pinned version, or Baton's commit."""
        if not self.requirements:
            commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
            return f"Baton {commit.stdout.strip()}"
        pins = (FOLDER / "requirements" / f"{self.requirements}.txt").read_text()
        pin = re.search(rf"^{re.escape(self.package)}==(\S+)", pins, re.MULTILINE)
        return f"{self.package} {pin[1]}" if pin else self.package

    def prepare(self) -> str:
        """Create or update the environment if necessary, and return its Python. Raises ``RuntimeError`` on failure."""
        if not self.requirements:
            return sys.executable
        folder = ENVIRONMENTS / self.requirements
        pins = FOLDER / "requirements" / f"{self.requirements}.txt"
        installed = folder / pins.name
        if installed.exists() and installed.read_text() == pins.read_text():
            return str(folder / "bin" / "python")
        uv = shutil.which("uv", path=f"{ROOT / '.baton' / 'tools' / 'bin'}:{os.environ['PATH']}")
        if uv is None:
            raise RuntimeError("There is no uv; run `make setup` first.")
        for command in (
            [uv, "venv", "-q", "--clear", "-p", self.python, str(folder)],
            [uv, "pip", "install", "-q", "-p", str(folder / "bin" / "python"), "-r", str(pins)],
        ):
            if subprocess.run(command).returncode:
                raise RuntimeError(f"{self.name} cannot be installed (see above). Leave it out with --peers.")
        installed.write_text(pins.read_text())
        return str(folder / "bin" / "python")


PEERS = (
    Peer("Baton", "baton"),
    Peer("LangGraph, DynamoDBSaver", "langgraph_dynamodb", "langgraph", package="langgraph"),
    Peer("Strands, S3SessionManager", "strands_agents", "strands", "s3", stored_in="S3", package="strands-agents"),
    Peer(
        "Strands, strands-dynamodb-storage",
        "strands_agents",
        "strands",
        "dynamodb",
        ("pk", "sk"),
        package="strands-agents",
    ),
    Peer("agent-squad", "squad", "agent-squad", package="agent-squad"),
    Peer(
        "OpenAI Agents, SQLAlchemySession",
        "openai_agents",
        "openai-agents",
        "sqlite",
        stored_in="SQLite",
        package="openai-agents",
    ),
    Peer(
        "OpenAI Agents, openai-agents-session",
        "openai_agents",
        "openai-agents",
        "dynamodb",
        ("session_id",),
        package="openai-agents",
    ),
    Peer(
        "Agent Kernel", "agent_kernel", "agent-kernel", keys=("session_id", "key"), python="3.12", package="agentkernel"
    ),
)


class Driver:
    """A running driver: a process of a peer. Use it as a context manager."""

    def __init__(self, python: str, peer: Peer, environment: Mapping[str, str]) -> None:
        self._log = (ENVIRONMENTS / f"{peer.script}.log").open("a")
        self._process = subprocess.Popen(
            [python, str(FOLDER / "drivers" / f"{peer.script}.py")],
            env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Driver:
        try:
            self.read()
        except RuntimeError:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def send(self, command: str, session: str, message: str = "", text: str = "") -> None:
        """Send a command. ``read`` returns its reports."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        line = json.dumps({"do": command, "session": session, "message": message, "text": text})
        print(line, file=self._process.stdin)

    def read(self, event: str = "end") -> dict[str, Any]:
        """Return the next report of an event, or the last one of the command.

        Raises ``RuntimeError`` if the driver ends, or if it takes more than ``PATIENCE_SECONDS``.
        """
        watchdog = threading.Timer(PATIENCE_SECONDS, self._process.kill)
        watchdog.start()
        try:
            assert self._process.stdout is not None  # noqa: S101 - it is a pipe
            for line in self._process.stdout:
                if not line.startswith('{"event"'):
                    continue  # a library printed it
                report: dict[str, Any] = json.loads(line)
                if report["event"] in (event, "end"):
                    return report
        finally:
            watchdog.cancel()
        raise RuntimeError(
            f"A driver ended, or was killed after {PATIENCE_SECONDS:g} s. Its messages are in {self._log.name}"
        )

    def ask(self, session: str, message: str, text: str) -> dict[str, Any]:
        """Ask a question, wait for the whole answer, and return the report, which may contain an ``error``."""
        self.send("ask", session, message, text)
        return self.read()

    def read_history(self, session: str) -> list[tuple[str, str]]:
        """Return the role and text of each stored message. Raises ``RuntimeError`` if they cannot be read."""
        self.send("history", session)
        report = self.read()
        if "error" in report:
            raise RuntimeError(report["error"])
        return [(role, text) for role, text in report["messages"]]

    def kill(self) -> None:
        """Kill the driver with SIGKILL, unless it has ended."""
        with self._process:  # closes its pipes and waits for its end
            self._process.kill()
        self._log.close()
