"""Processes that have imported the product when they begin, because they are forked from one that imported it.

The imports take seconds of CPU, which each local cloud of a test run would need again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from baton_local.root import ROOT

PATIENCE_SECONDS = 120.0

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.terminal_log", "tests.preloaded"])


class ForkedProcess:
    """A process that calls ``target(connection, *arguments)`` in ``environment``. Its output is sent to standard error.

    ``target`` is a function of a module. It must return when it reads from the connection and finds it closed.
    """

    def __init__(self, target: Callable[..., None], environment: Mapping[str, str], *arguments: Any) -> None:
        self._lock = threading.Lock()
        self._connection, child_connection = _CONTEXT.Pipe()
        self._process = start_process(_run, target, dict(environment), child_connection, *arguments)
        child_connection.close()

    def receive(self) -> Any:
        """Return the next object that the process sends. Raises ``EOFError`` if it has ended."""
        assert self._connection.poll(PATIENCE_SECONDS), "It says nothing."
        return self._connection.recv()

    def ask(self, request: Any) -> Any:
        """Send an object, and return the answer. Only one thread at a time can ask."""
        with self._lock:
            self._connection.send(request)
            return self.receive()

    def end(self) -> None:
        """Close the connection, and wait until the process has ended by itself."""
        self._connection.close()
        self._process.join(PATIENCE_SECONDS)
        assert self._process.exitcode == 0, f"It ended with {self._process.exitcode}; its standard error says why."

    @property
    def was_killed(self) -> bool:
        """Whether a signal has ended the process."""
        return (self._process.exitcode or 0) < 0

    def kill(self) -> None:
        """Kill the process with SIGKILL, and wait until it has ended."""
        self._process.kill()
        self._process.join(PATIENCE_SECONDS)
        self._connection.close()


def start_process(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a process that calls ``target``, a function of a module, and ends with this one."""
    process = _CONTEXT.Process(target=target, args=arguments, daemon=True)
    with contextlib.chdir(ROOT):  # the process that is forked must find the tests here
        process.start()
    return process


def _run(target: Callable[..., None], environment: dict[str, str], connection: Connection, *arguments: Any) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(2, 1)
    code = 0
    try:
        target(connection, *arguments)
    except BaseException:  # noqa: BLE001  Python's own end would wait for threads
        traceback.print_exc()
        code = 1
    connection.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a thread may still be in a call whose services have stopped
