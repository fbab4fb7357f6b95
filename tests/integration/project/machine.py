"""A machine without this repository: wheels, and an environment that has nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from baton_local import web
from baton_local.root import ROOT
from baton_local.settings import default_cache_dir

RUNNING = "Baton is running at "


def uv() -> str:
    """Return the path of uv: the one that set this environment up, or one on PATH."""
    private = ROOT / ".baton/tools/bin/uv"
    return os.environ.get("UV") or (str(private) if private.exists() else shutil.which("uv") or "uv")


def build_wheels(folder: Path) -> Path:
    """Build the distributions, and return the wheel of the server's."""
    web.build()
    for source in (ROOT, ROOT / "clients" / "python", ROOT / "extraction"):
        subprocess.run([uv(), "build", "--quiet", "--wheel", "--out-dir", folder, source], check=True)
    (wheel,) = folder.glob("baton_conversations-*.whl")
    return wheel


@dataclass(frozen=True)
class Machine:
    """An environment with the wheels installed, and a folder to work in."""

    programs: Path
    folder: Path

    @classmethod
    def with_wheels(cls, folder: Path) -> Machine:
        wheel = build_wheels(folder / "wheels")
        programs = folder / "environment"
        subprocess.run([uv(), "venv", "--quiet", "--python", sys.executable, programs], check=True)
        results = ("--find-links", wheel.parent)
        python = programs / "bin" / "python"
        subprocess.run([uv(), "pip", "install", "--quiet", "--python", python, *results, f"{wheel}[local]"], check=True)
        (folder / "home").mkdir()
        return cls(programs / "bin", folder / "home")

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of this repository, but downloads that are kept."""
        ours = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AWS_", "BATON_", "OPENAI_", "PYTHON", "VIRTUAL_ENV"))
        }
        return {**ours, "BATON_CACHE_DIR": str(default_cache_dir()), "UV": uv()}

    def baton(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run the command ``baton`` to its end."""
        command = [self.programs / "baton", *arguments]
        return subprocess.run(
            command, cwd=cwd or self.folder, env=self.environment, capture_output=True, text=True, check=False
        )

    def run(self, commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a page's ``commands`` in a shell that has uv, but no environment."""
        environment = self.environment | {
            "UV_FIND_LINKS": str(self.folder.parent / "wheels"),
            "UV_NO_PROGRESS": "1",
            "PATH": f"{Path(uv()).parent}{os.pathsep}{os.environ['PATH']}",
        }
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    @contextmanager
    def developing(self, project: Path) -> Iterator[Conversations]:
        """Run ``baton dev`` in ``project``."""
        with subprocess.Popen(
            [self.programs / "baton", "dev", "--port", "0"],
            cwd=project,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                assert process.stdout
                messages: list[str] = []
                for line in process.stdout:
                    messages.append(line)
                    if line.startswith(RUNNING):
                        break
                else:
                    raise AssertionError("".join(messages))
                yield Conversations(process, line.removeprefix(RUNNING).split()[0])
            finally:
                process.kill()


@dataclass(frozen=True)
class Conversations:
    """A user of a running project."""

    process: subprocess.Popen[str]
    url: str

    def wait_for_reload(self) -> str:
        """Wait until the process reports that it has reloaded or why it has not, and return the report."""
        assert self.process.stdout
        line = next(line for line in self.process.stdout if "eloaded" in line)
        return line if line.startswith("Reloaded") else next(self.process.stdout)

    def wait_for_line(self, beginning: str) -> str:
        """Wait for a line with this beginning, and return the rest of the line."""
        assert self.process.stdout
        return next(line for line in self.process.stdout if line.startswith(beginning)).removeprefix(beginning).strip()

    def ask(self, session: str, text: str) -> str:
        """Send a message and return the answer."""
        body = {"sessionId": session, "message": text}
        answer = httpx.post(f"{self.url}/v1/messages", json=body, headers=self._headers(), timeout=60)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["messages"][-1]["content"])

    def list_messages(self, session: str) -> list[str]:
        """Return the texts of a conversation, oldest first."""
        result = httpx.get(f"{self.url}/v1/threads/{session}/messages", headers=self._headers())
        return [item["content"] for item in result.raise_for_status().json()["items"]]

    def _headers(self) -> dict[str, str]:
        claims = {"tenant": "demo", "user": "ada"}
        return {"Authorization": f"Bearer {httpx.post(f'{self.url}/local/token', json=claims).json()['token']}"}
