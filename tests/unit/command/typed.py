"""Somebody at a terminal, for the command's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator


class Typed:
    """Typed messages, and answers to questions in turn."""

    is_terminal = True

    def __init__(self, *messages: str, answers: tuple[str, ...] = ()) -> None:
        self._messages = messages
        self._answers = iter(answers)
        self.asked: list[str] = []
        """The questions."""

    async def messages(self) -> AsyncIterator[str]:
        """Yield the messages."""
        for each in self._messages:
            yield each

    async def ask(self, text: str) -> str:
        """Return the next answer."""
        self.asked.append(text)
        return next(self._answers)
