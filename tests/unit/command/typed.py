"""Somebody at a terminal, for the command's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator


class Typed:
    """Typed messages, and answers to questions in turn."""

    is_terminal = True

    def __init__(self, *messages: str, answers: tuple[str, ...] = ()) -> None:
        self._messages = messages
        self._answers = iter(answers)
        self.prompts: list[str] = []
        """The questions."""

    async def messages(self) -> AsyncIterator[str]:
        """Yield the messages."""
        for message in self._messages:
            yield message

    async def ask(self, text: str) -> str:
        """Return the next answer."""
        self.prompts.append(text)
        return next(self._answers)
