"""Programs of the product, as ``python -m MODULE``, without the seconds of CPU for their imports."""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from threading import Thread
from typing import Self, TextIO

from baton_local.root import ROOT
from tests.forked import start_process


class ForkedProgram:
    """A running program in the project's folder, with the part of ``subprocess.Popen`` that tests use.

    As a context manager, it closes the streams and waits until the program has ended.
    """

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self.stdout, out = _pipe()
        self.stderr, err = _pipe()
        self._process = start_process(_run, module, dict(environment), out, err)
        out.close()
        err.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.stderr.close()
        self.wait()

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while the program runs."""
        return self._process.exitcode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read both streams to their ends, and wait until the program has ended. Raises ``TimeoutExpired``."""
        messages = ["", ""]

        def read(index: int, stream: TextIO) -> None:
            messages[index] = stream.read()

        readers = [Thread(target=read, args=thread, daemon=True) for thread in enumerate((self.stdout, self.stderr))]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(timeout)
        self.wait(timeout)
        return messages[0], messages[1]

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the program has ended. Raises ``subprocess.TimeoutExpired``."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the program has ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the program with SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _pipe() -> tuple[TextIO, Connection]:
    read, write = os.pipe()
    return os.fdopen(read, encoding="utf-8"), Connection(write, readable=False)


def _run(module: str, environment: dict[str, str], out: Connection, err: Connection) -> None:
    for connection, number in ((out, 1), (err, 2)):
        os.dup2(connection.fileno(), number)
        connection.close()
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module]
    code: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code or 0
    sys.stdout.flush()
    os._exit(code if isinstance(code, int) else 1)
