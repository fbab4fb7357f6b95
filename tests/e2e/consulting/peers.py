"""Those that agents work with, each a separate process: an MCP server and an agent that speaks A2A."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from baton_local.root import ROOT
from tests.e2e.sockets import PATIENCE_SECONDS
from tests.environment import INITIAL_ENVIRONMENT

EXAMPLE_URL = "http://127.0.0.1:8765/mcp"
"""The address at which the example's agents look for its server."""


@dataclass(frozen=True)
class Peer:
    """One process, and where it serves."""

    process: subprocess.Popen[str]
    url: str

    async def says(self, line: str) -> None:
        """Return once it has printed the line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await asyncio.to_thread(self.process.stdout.readline) == f"{line}\n"

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()


@contextmanager
def mcp_server() -> Iterator[Peer]:
    """The MCP server of the tests of tools."""
    with _start("-m", "tests.integration.tools.mcp_server", "files") as process:
        assert process.stdout is not None
        yield Peer(process, f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp")


@contextmanager
def remote_agent() -> Iterator[Peer]:
    """The remote agent of the tests of A2A."""
    with _start("-m", "tests.integration.agents.remote_server") as process:
        assert process.stdout is not None
        yield Peer(process, process.stdout.readline().strip())


@contextmanager
def example_server() -> Iterator[Peer]:
    """The MCP server of the examples, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with _start("examples/mcp_server.py", "--port", str(port)) as process:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _listens(port):
            assert process.poll() is None, "The example's server has ended."
            assert time.monotonic() < deadline, "The example's server does not listen."
            time.sleep(0.1)
        yield Peer(process, f"http://127.0.0.1:{port}/mcp")


def example_agents(folder: Path, server: Peer) -> Path:
    """Put the example's agents into ``folder``, with the server at its address; return the folder."""
    for file in (ROOT / "examples" / "agents").glob("*.yaml"):
        text = file.read_text()
        assert EXAMPLE_URL in text
        (folder / file.name).write_text(text.replace(EXAMPLE_URL, server.url))
    return folder


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _start(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    path = os.pathsep.join([str(ROOT / "shared"), str(ROOT)])
    command: Sequence[str] = [sys.executable, *arguments]
    environment = {**INITIAL_ENVIRONMENT, "PYTHONPATH": path}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()
