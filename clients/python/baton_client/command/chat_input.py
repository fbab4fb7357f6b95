"""The user's input: at a prompt, or as lines of standard input."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession


class ChatInput(Protocol):
    """A source of messages and answers."""

    @property
    def is_terminal(self) -> bool:
        """Whether somebody can be asked."""

    def messages(self) -> AsyncIterator[str]:
        """Yield messages until the input ends. Raises ``KeyboardInterrupt`` for Ctrl-C twice."""

    async def ask(self, text: str) -> str:
        """Return the answer to a question."""


def chat_input() -> ChatInput:
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
        was_interrupted = False
        while True:
            try:
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
