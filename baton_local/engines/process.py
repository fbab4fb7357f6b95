"""A child process that ends with this one. The end of its log is kept for error messages."""

import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from baton_local.errors import EngineFailed

GUARD = Path(__file__).with_name("guard.py")
ROOT = Path(__file__).parents[2]
LOG_LINES = 200
"""The number of last lines of the log that are kept."""
STOP_SECONDS = 6.0
"""The longest time for a stop. The guard kills the command after half of it (``guard.GRACE_SECONDS``)."""
ATTEMPTS = 3
"""The number of ports that are tried."""


class PortLost(EngineFailed):
    """An error because another program took the port first."""


def find_free_port() -> int:
    """Return a TCP port of 127.0.0.1 that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    """Return whether the port accepts connections, which is cheaper to poll than a real call."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class ChildProcess:
    """A command run under ``guard.py`` in its own session, so that Ctrl-C reaches only this process."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        """Start the command. ``name`` is its name in messages."""
        self.name = name
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            cwd=ROOT,
        )
        self._reader = threading.Thread(target=self._read_log, name=f"{name} log", daemon=True)
        self._reader.start()

    @property
    def is_running(self) -> bool:
        """Whether the command still runs."""
        return self._guard.poll() is None

    def log_tail(self, lines: int = 20) -> str:
        """Return the last ``lines`` lines that the command printed, of ``LOG_LINES`` at most."""
        return "\n".join(list(self._log)[-lines:])

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Return once ``ready()`` holds; raise ``EngineFailed`` when the command ends or ``timeout`` seconds pass."""
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.is_running:
                self._reader.join(1)
                raise EngineFailed(
                    f"{self.name} ended with exit code {self._guard.returncode} while starting:\n{self.log_tail()}"
                )
            if time.monotonic() > deadline:
                raise EngineFailed(f"{self.name} was not ready after {timeout:.0f} s:\n{self.log_tail()}")
            time.sleep(0.05)

    def wait(self) -> None:
        """Return when the command has ended and its log is read."""
        self._guard.wait()
        self._reader.join(1)

    def stop(self) -> None:
        """End the command and wait for its end. No error if it has ended."""
        guard = self._guard
        if guard.stdin and not guard.stdin.closed:
            guard.stdin.close()
        try:
            guard.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            guard.kill()
            guard.wait()
        self._reader.join(1)
        if guard.stdout:
            guard.stdout.close()

    def _read_log(self) -> None:
        if self._guard.stdout:
            for line in self._guard.stdout:
                self._log.append(line.rstrip())


def start_on_free_port(
    name: str, command: Callable[[int], Sequence[str]], ready: Callable[[int], bool], timeout: float = 60.0
) -> tuple[ChildProcess, int]:
    """Start ``command(port)`` and wait for ``ready(port)``; if another program takes the port first, try another one.

    The limit of each start is ``timeout`` seconds. Raises ``EngineFailed`` with the end of the log.
    """
    for attempt in range(1, ATTEMPTS + 1):
        port = find_free_port()
        try:
            return start_on_port(name, command, ready, port, timeout), port
        except PortLost:
            if attempt == ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def start_on_port(
    name: str, command: Callable[[int], Sequence[str]], ready: Callable[[int], bool], port: int, timeout: float = 60.0
) -> ChildProcess:
    """Start ``command(port)`` and wait for ``ready(port)``, for ``timeout`` seconds at most.

    Raises ``EngineFailed`` with the end of the log: ``PortLost`` if another program has the port.
    """
    child = ChildProcess(name, command(port))
    try:
        child.wait_until(lambda: _listens(port) and ready(port), timeout)
    except EngineFailed as problem:
        lost_the_port = not child.is_running and "already in use" in child.log_tail(LOG_LINES)
        child.stop()
        raise PortLost(str(problem)) if lost_the_port else problem from None
    except BaseException:
        child.stop()
        raise
    return child
