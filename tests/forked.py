"""Processes that have imported the product when they begin: they are forked from one that does nothing else.

Imports of the product and its engines take seconds of CPU, which each local cloud of a test run would spend again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from baton_local.root import ROOT

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.preloaded"])


class Forked:
    """A process that runs ``target(connection, *arguments)`` in ``environment`` and ends when the connection does.

    ``target`` is a function of a module. What it prints goes to standard error.
    """

    def __init__(
        self, target: Callable[..., None], environment: Mapping[str, str], *arguments: Any, patience: float = 60.0
    ) -> None:
        self._patience = patience
        self._asking = threading.Lock()
        self._connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_run, args=(target, dict(environment), theirs, *arguments), daemon=True)
        with contextlib.chdir(ROOT):  # where the process that others are forked from finds the tests
            self._process.start()
        theirs.close()

    def receive(self) -> Any:
        """Return the next object that it sends. Raises ``EOFError`` when it has ended; its standard error says why."""
        return self._connection.recv()

    def ask(self, request: Any) -> Any:
        """Send an object and return the one that it answers. Threads that ask take turns."""
        with self._asking:
            self._connection.send(request)
            return self.receive()

    def end(self) -> None:
        """Have it end by itself, and wait for that."""
        self._connection.close()
        self._process.join(self._patience)
        assert self._process.exitcode is not None, "It does not end."

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        self._process.kill()
        self._process.join(self._patience)
        self._connection.close()


def _run(target: Callable[..., None], environment: dict[str, str], connection: Connection, *arguments: Any) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(2, 1)
    try:
        target(connection, *arguments)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)  # a thread may still be inside a call; what it needs is down already
