"""The user's input: at a prompt, or as lines of standard input."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

MAX_TYPED = 64 * 1024
"""The most bytes that are read from the terminal at once."""


class ChatInput(Protocol):
    """A source of messages and answers."""

    @property
    def is_terminal(self) -> bool:
        """Whether somebody can be asked."""

    def messages(self) -> AsyncIterator[str]:
        """Yield messages until the input ends. Raises ``KeyboardInterrupt`` for Ctrl-C twice."""

    async def ask(self, text: str) -> str:
        """Return the answer to a question."""

    def listen(self, take: Callable[[str], None]) -> AbstractContextManager[None]:
        """Pass lines that are typed during the block to ``take``. Nothing else reads the input meanwhile."""


def open_chat_input() -> ChatInput:
    """Return the input of this process."""
    return Prompt() if sys.stdin.isatty() and sys.stdout.isatty() else Lines()


class Lines:
    """Standard input that is not a terminal."""

    is_terminal = False

    async def messages(self) -> AsyncIterator[str]:
        """Yield the lines."""
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip():
                yield line.rstrip("\n")

    async def ask(self, text: str) -> str:
        """Answer nothing."""
        return ""

    def listen(self, take: Callable[[str], None]) -> AbstractContextManager[None]:
        """Take nothing: each line is a message that is answered in turn."""
        return nullcontext()


class Prompt:
    """A terminal. Esc Enter (or Alt-Enter) begins another line; the arrows bring earlier messages back."""

    is_terminal = True

    def __init__(self) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import InMemoryHistory

        # Messages may be private: they are kept in memory only.
        self._session: PromptSession[str] = PromptSession(history=InMemoryHistory(), enable_suspend=True)

    async def messages(self) -> AsyncIterator[str]:
        """Yield what is typed, until Ctrl-D or Ctrl-C twice."""
        from prompt_toolkit.patch_stdout import patch_stdout

        was_interrupted = False
        while True:
            try:
                with patch_stdout(raw=True):  # people of a desk may write meanwhile
                    text = await self._session.prompt_async("> ")
            except EOFError:
                return
            except KeyboardInterrupt:
                if was_interrupted:
                    raise
                was_interrupted = True
                sys.stderr.write("Ctrl-C again leaves.\n")
                continue
            was_interrupted = False
            yield text

    async def ask(self, text: str) -> str:
        """Return the answer; Ctrl-D answers nothing."""
        try:
            return await self._session.prompt_async(text)
        except EOFError:
            return ""

    @contextmanager
    def listen(self, take: Callable[[str], None]) -> Iterator[None]:
        """See ``ChatInput``. A line that is not finished when the block ends is left for the prompt."""
        loop, number = asyncio.get_running_loop(), sys.stdin.fileno()

        def read() -> None:
            typed = os.read(number, MAX_TYPED)
            if not typed:
                loop.remove_reader(number)
            for line in typed.decode(errors="replace").splitlines():
                take(line)

        try:
            loop.add_reader(number, read)
        except NotImplementedError:  # Windows: the next prompt gets what is typed
            yield
            return
        try:
            yield
        finally:
            loop.remove_reader(number)
