"""Restart a child engine that ends unexpectedly, a limited number of times."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from baton_local.engines import java
from baton_local.engines.process import ChildProcess, start_on_free_port, start_on_port
from baton_local.errors import EngineFailed

logger = logging.getLogger("baton_local.engines")

BACK_OFF_SECONDS = (0.0, 1.0, 2.0, 5.0, 10.0)
"""The pauses before restarts. After the last one fails, the engine is not started again."""
STEADY_SECONDS = 60.0
"""The run time after which earlier failures no longer count."""


class Supervisor:
    """A thread that watches a child and replaces it. It logs when the child ends, and when the next one runs."""

    def __init__(
        self,
        child: ChildProcess,
        again: Callable[[], ChildProcess],
        restarted: Callable[[], None],
        given_up: Callable[[EngineFailed], None],
    ) -> None:
        """``again`` starts the next child. ``restarted`` restores the state that the last child lost.

        ``given_up`` is called when the engine keeps ending. An ``EngineFailed`` of ``again`` and botocore's errors of
        ``restarted`` count as failed starts.
        """
        self._child = child
        self._again = again
        self._restarted = restarted
        self._given_up = given_up
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"{child.name} supervisor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the child and start no other. A repetition is not an error."""
        self._stopping.set()
        with self._lock:
            self._child.stop()

    def _follow(self) -> None:
        """Start the engine again after each unexpected end, until ``stop`` or the last pause."""
        name = self._child.name
        failures = 0
        began = time.monotonic()
        while self._wait_for_end():
            failures = 1 if time.monotonic() - began > STEADY_SECONDS else failures + 1
            problem = EngineFailed(f"{name} ended:\n{self._child.log_tail()}")
            self._child.stop()  # ends its guard and closes its log
            logger.error("%s\n%s is started again.", problem, name)
            while failures <= len(BACK_OFF_SECONDS) and not self._stopping.wait(BACK_OFF_SECONDS[failures - 1]):
                try:
                    self._replace(self._again())
                    self._restarted()
                except (EngineFailed, BotoCoreError, ClientError) as again:
                    failures += 1
                    problem = EngineFailed(str(again))
                else:
                    logger.warning("%s runs again.", name)
                    break
            else:
                if not self._stopping.is_set():
                    self._given_up(EngineFailed(f"{name} keeps ending, so it is given up. The last time: {problem}"))
                return
            began = time.monotonic()

    def _wait_for_end(self) -> bool:
        """Wait for the child's end. Return whether it was unexpected."""
        self._child.wait()
        return not self._stopping.is_set()

    def _replace(self, child: ChildProcess) -> None:
        with self._lock:
            self._child = child
            if self._stopping.is_set():
                child.stop()


class SupervisedEngine:
    """An engine in a child process. After an unexpected end it is started again at the same endpoint."""

    def __init__(
        self,
        cache_dir: Path,
        data_dir: Path | None = None,
        progress: java.Progress = print,
        restarted: Callable[[], None] = lambda: None,
        given_up: Callable[[EngineFailed], None] = lambda _: None,
    ) -> None:
        """``data_dir`` keeps the engine's data; without it they are in memory or in a temporary folder.

        ``cache_dir`` has the downloaded programs, and ``progress`` gets a line before each download. See ``Supervisor``
        for ``restarted`` and ``given_up``.
        """
        self._cache_dir = cache_dir
        self._data_dir = data_dir
        self._progress = progress
        self._restarted = restarted
        self._given_up = given_up
        self._supervisor: Supervisor | None = None

    def _run(
        self, name: str, command: Callable[[int], Sequence[str]], answers: Callable[[int], bool], seconds: float = 60.0
    ) -> str:
        """Start ``command(port)``, wait until ``answers(port)`` holds, and return the endpoint URL.

        The limit of the start is ``seconds``. Raises ``EngineFailed``.
        """
        child, port = start_on_free_port(name, command, answers, seconds)
        self._supervisor = Supervisor(
            child, lambda: start_on_port(name, command, answers, port, seconds), self._restarted, self._given_up
        )
        return f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        """End the engine. No error if it does not run."""
        if self._supervisor:
            self._supervisor.stop()
            self._supervisor = None
