"""The command ``baton`` in a separate terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import termios
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tests.environment import INITIAL_ENVIRONMENT

PATIENCE_SECONDS = 30
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[=>]")


class Terminal:
    """A process with a pseudo-terminal. Use it as a context manager."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = environment
        self._text = ""

    def __enter__(self) -> Self:
        self._keyboard, self._screen = pty.openpty()
        self._before = self._modes()
        environment = {**INITIAL_ENVIRONMENT, **self._environment, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self._process = subprocess.Popen(self._command, env=environment, preexec_fn=lambda: os.login_tty(self._screen))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._keyboard)
        os.close(self._screen)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._keyboard, text.encode())

    def read_until(self, expected: str) -> str:
        """Read until the screen has shown ``expected``, and return everything up to it."""
        while expected not in SEQUENCE.sub("", self._text):
            ready, _, _ = select.select([self._keyboard], [], [], PATIENCE_SECONDS)
            assert ready, f"Nothing more came; so far: {self._text!r}"
            self._text += os.read(self._keyboard, 65536).decode()
        seen = SEQUENCE.sub("", self._text)
        page_items, _, rest = seen.partition(expected)
        self._text = rest
        return page_items + expected

    def rest(self) -> str:
        """Return what was shown behind what has been read, once the process has ended."""
        while select.select([self._keyboard], [], [], 0)[0]:
            self._text += os.read(self._keyboard, 65536).decode()
        return SEQUENCE.sub("", self._text)

    def exit_code(self) -> int:
        """Wait for the end."""
        return self._process.wait(PATIENCE_SECONDS)

    @property
    def is_clean(self) -> bool:
        """Whether the terminal's modes are as they were before."""
        return self._modes() == self._before

    def _modes(self) -> list[Any]:
        return termios.tcgetattr(self._screen)
