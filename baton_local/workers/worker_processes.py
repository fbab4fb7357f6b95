"""Queue-fed functions in separate processes, which tests may kill. A process that ends is replaced.

This process polls the queue, as Lambda's pollers outlive the execution environments that they feed. The records of a
killed process stay in the queue and are received again after their visibility timeout.
"""

import contextlib
import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from baton_local.errors import EngineFailed
from baton_local.root import ROOT
from baton_local.workers.worker_process import READY

logger = logging.getLogger("baton_local.workers")

SUPERVISOR = ROOT / "shared/baton/adapters/aws/supervisor.py"
START_SECONDS = 60.0
STOP_SECONDS = 5.0
MAX_FAILED_STARTS = 3
"""The number of consecutive failed starts after which a process is not started again."""


class WorkerEnded(Exception):
    """An error because a process ended before it answered."""


@dataclass(eq=False)
class _Process:
    """One running process and its requests in progress."""

    child: "subprocess.Popen[str]"
    """The supervisor, as in a deployment, which ends right after the process that does the work."""
    pid: int = 0
    """The process that does the work; 0 until it is ready."""
    requests: dict[int, "Future[Any]"] = field(default_factory=dict)
    writing: threading.Lock = field(default_factory=threading.Lock)

    def kill(self) -> None:
        """Kill the process, after which its supervisor ends, or both if it is not ready."""
        with contextlib.suppress(ProcessLookupError):
            if self.pid:
                os.kill(self.pid, signal.SIGKILL)
            else:
                os.killpg(self.child.pid, signal.SIGKILL)

    def write(self, request: dict[str, Any]) -> None:
        """Send a request. If the process has ended, the thread that reads its output fails the request."""
        with self.writing, contextlib.suppress(OSError, ValueError):
            if self.child.stdin:
                self.child.stdin.write(json.dumps(request) + "\n")
                self.child.stdin.flush()


class WorkerProcesses:
    """A number of processes that are kept running. They end with this process, however it ends."""

    def __init__(self, count: int, environment: Mapping[str, str]) -> None:
        self._count = count
        self._environment = dict(environment)
        self._changed = threading.Condition()
        self._running: set[_Process] = set()
        self._ready: dict[int, _Process] = {}
        self._numbers = itertools.count(1)
        self._stopping = False
        self._has_given_up = False
        self._keepers = [
            threading.Thread(target=self._keep_one, name=f"worker process {number}", daemon=True)
            for number in range(count)
        ]

    def start(self) -> None:
        """Start the processes, and return when all are ready. Raises ``EngineFailed``."""
        for keeper in self._keepers:
            keeper.start()
        self.wait()

    def wait(self, seconds: float = START_SECONDS) -> None:
        """Return when all processes are ready, including replacements. Raises ``EngineFailed``."""
        with self._changed:
            is_settled = self._changed.wait_for(lambda: self._has_given_up or len(self._ready) == self._count, seconds)
        if self._has_given_up:
            raise EngineFailed(
                f"A worker process did not start, {MAX_FAILED_STARTS} times in a row; see the log above."
            )
        if not is_settled:
            raise EngineFailed(f"The worker processes were not ready within {seconds:.0f} s.")

    def stop(self) -> None:
        """Kill the processes. A repetition is not an error."""
        with self._changed:
            self._stopping = True
            for process in self._running:
                process.kill()
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._running, STOP_SECONDS)

    def list_pids(self, *, busy: bool = False) -> list[int]:
        """Return the ids of the ready processes, or only of those with requests."""
        with self._changed:
            return sorted(pid for pid, process in self._ready.items() if process.requests or not busy)

    def make_function(self, name: str) -> "RemoteFunction":
        """Return the function ``name`` for a poller."""
        return RemoteFunction(self, name)

    def invoke(self, function: str, event: Any) -> "Future[Any]":
        """Send ``event`` to the least busy process, once one is ready.

        The future gets the answer, or fails with ``WorkerEnded``, or with ``RuntimeError`` if the function fails.
        """
        future: Future[Any] = Future()
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._stopping or self._has_given_up)
            if not self._ready:
                future.set_exception(WorkerEnded("There is no worker."))
                return future
            process = min(self._ready.values(), key=lambda process: len(process.requests))
            number = next(self._numbers)
            process.requests[number] = future
        process.write({"request": number, "function": function, "event": event})
        return future

    def _keep_one(self) -> None:
        """Start a process whenever the last one has ended, until ``stop`` or ``MAX_FAILED_STARTS``."""
        failed_starts = 0
        while failed_starts < MAX_FAILED_STARTS:
            process = self._spawn()
            if process is None:
                return
            failed_starts = 0 if self._follow(process) else failed_starts + 1
        logger.error("A worker process did not start, %d times in a row; it is given up.", MAX_FAILED_STARTS)
        with self._changed:
            self._has_given_up = True
            self._changed.notify_all()

    def _spawn(self) -> _Process | None:
        """Start a process; return None if ``stop`` was called."""
        with self._changed:
            if self._stopping:
                return None
            child = subprocess.Popen(
                [sys.executable, "-P", SUPERVISOR, sys.executable, "-m", "baton_local.workers.worker_process"],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C reaches only this process
            )
            process = _Process(child)
            self._running.add(process)
            return process

    def _follow(self, process: _Process) -> bool:
        """Read a process's answers until it ends. Return whether it was ready."""
        was_ready = False
        child = process.child
        for line in child.stdout or ():
            with contextlib.suppress(ValueError):  # an incomplete line of a process that was killed while writing
                answer = json.loads(line)
                if READY in answer:
                    was_ready = True
                    with self._changed:
                        process.pid = answer[READY]
                        self._ready[process.pid] = process
                        self._changed.notify_all()
                else:
                    self._settle(process, answer)
        with self._changed:  # before the supervisor makes its records visible
            self._ready.pop(process.pid, None)
        child.wait()
        with self._changed:
            self._running.discard(process)
            orphans = list(process.requests.values())
            process.requests.clear()
            self._changed.notify_all()
        for stream in (child.stdin, child.stdout):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()
        for future in orphans:
            future.set_exception(WorkerEnded(f"Worker {process.pid} ended with {child.returncode}."))
        return was_ready

    def _settle(self, process: _Process, answer: dict[str, Any]) -> None:
        """Give the future of a request its answer or its error."""
        with self._changed:
            future = process.requests.pop(answer["request"])
            self._changed.notify_all()
        if "error" in answer:
            future.set_exception(RuntimeError(answer["error"]))
        else:
            future.set_result(answer["answer"])


@dataclass(frozen=True)
class RemoteFunction:
    """A function that runs in one of the processes."""

    processes: WorkerProcesses
    name: str

    def invoke(self, event: Any) -> "Future[Any]":
        """Send ``event`` to a process. The future gets the answer or the exception."""
        return self.processes.invoke(self.name, event)
