"""A local cloud of this release or another, in a process that can be killed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.environment import INITIAL_ENVIRONMENT
from tests.upgrade.trees import python_path

PROJECT = Path(__file__).parent / "project"
RUNNING = "Baton is running at "
DELAY_MS = "10"
"""The pause of the demo model between words: a long answer takes so long that it can be interrupted."""


def project_environment() -> dict[str, str]:
    """Return the variables with which a local cloud runs the project."""
    return {
        "BATON_AGENTS_DIR": str(PROJECT / "agents"),
        "BATON_TOOLS_DIR": str(PROJECT / "tools"),
        "BATON_TOOL_PACKAGES": "order_tools",
        "BATON_DEFAULT_AGENT": "assistant",
        "BATON_DEMO_SCRIPT": str(PROJECT / "demo.yaml"),
        "BATON_DEMO_DELAY_MS": DELAY_MS,
        "BATON_FORGET_WAIT_SECONDS": "1",
        "BATON_LOCAL_DOCS": "false",
        "BATON_LOCAL_TRACES": "false",
    }


@dataclass
class ServedRelease:
    """The local cloud of the code in ``tree``, over engines and a folder that outlive it, as a context manager."""

    tree: Path
    engines: Mapping[str, str]
    """Variables with the addresses of the table and the files."""
    data: Path
    """The folder of the queues and the key of tokens."""
    url: str = ""
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=200))

    def __enter__(self) -> Self:
        environment = {name: value for name, value in INITIAL_ENVIRONMENT.items() if not name.startswith("PYTHON")}
        environment |= project_environment() | dict(self.engines)
        environment |= {"PYTHONPATH": python_path(self.tree), "PYTHONDONTWRITEBYTECODE": "1", "PORT": "0"}
        environment |= {"BATON_DATA_DIR": str(self.data), "BATON_LOCAL_RELOAD": "false", "PYTHONUNBUFFERED": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "recorded_cloud.py")],
            cwd=self.tree,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.append(line)
            if line.startswith(RUNNING):
                self.url = line.removeprefix(RUNNING).split()[0]
                self._reader = threading.Thread(target=self._read_log)
                self._reader.start()
                return self
        raise AssertionError("".join(self._lines))

    def __exit__(self, *_: object) -> None:
        """End it as ``kill -9`` does."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout
        self._process.stdout.close()

    @property
    def log(self) -> str:
        """The newest lines that it has printed."""
        return "".join(self._lines)

    def _read_log(self) -> None:
        assert self._process.stdout
        self._lines.extend(self._process.stdout)
