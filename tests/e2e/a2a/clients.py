"""The reference clients of A2A, of both lines, unchanged, each in a separate process."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from baton_local.settings import default_cache_dir
from tests.e2e.sockets import PATIENCE_SECONDS
from tests.e2e.users import Json, User

HERE = Path(__file__).parent
LINES = ("0.3", "1.x", "1.x HTTP+JSON")
"""The clients: the line of the protocol, and its binding if it is not JSON-RPC."""
MAX_LINE = 64 * 1024 * 1024


class ClientFailed(Exception):
    """The client raised an error."""


@dataclass
class A2AClient:
    """A client of one version, for the conversations of all users."""

    line: str
    process: asyncio.subprocess.Process
    url: str = ""
    """The address of the card, unless another is given."""
    _waiting: dict[int, asyncio.Queue[Json]] = field(default_factory=dict)
    _reading: asyncio.Task[None] | None = None

    async def events(self, user: User, do: str, *, url: str | None = None, **fields: object) -> AsyncIterator[Json]:
        """Let the client do something; what it hears. Raises ``ClientFailed``."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
        number = len(self._waiting) + 1
        notifications = self._waiting[number] = asyncio.Queue()
        command = {"number": number, "do": do, "url": url or user.cloud.url, "token": user.token, **fields}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        while True:
            async with asyncio.timeout(PATIENCE_SECONDS):
                reported = await notifications.get()
            if "error" in reported:
                raise ClientFailed(reported["error"])
            if "done" in reported:
                return
            yield reported["event"]

    async def all_of(self, user: User, do: str, **fields: object) -> list[Json]:
        """Everything that it hears."""
        return [event async for event in self.events(user, do, **fields)]  # type: ignore[arg-type]

    async def last_of(self, user: User, do: str, **fields: object) -> Json:
        """Its last state."""
        return (await self.all_of(user, do, **fields))[-1]

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            reported = json.loads(line)
            self._waiting[reported["number"]].put_nowait(reported)

    async def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.process.wait()
        if self._reading is not None:
            await self._reading


async def start_client(line: str) -> A2AClient:
    """Start the client of one line."""
    python, program = (older_python(), "client_0_3.py") if line == "0.3" else (sys.executable, "client_1.py")
    process = await asyncio.create_subprocess_exec(
        str(python),
        str(HERE / program),
        *line.split()[1:],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=MAX_LINE,
    )
    return A2AClient(line, process)


def older_python() -> Path:
    """The interpreter of an environment with the client and the server of A2A 0.3, kept between test runs."""
    expected = HERE / "requirements.txt"
    version = f"{sys.version_info.major}{sys.version_info.minor}"
    digest = hashlib.sha256(expected.read_bytes()).hexdigest()[:16]
    folder = default_cache_dir() / f"a2a-client-{version}-{digest}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            fresh = Path(name) / "environment"
            venv.create(fresh, with_pip=True)
            python = fresh / "bin" / "python"
            install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(expected)]
            subprocess.run(install, check=True, capture_output=True, text=True)
            if not folder.is_dir():  # another process may have been faster
                fresh.rename(folder)
    return folder / "bin" / "python"
