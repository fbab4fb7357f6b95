"""A user at a terminal, for the command's tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

PAUSE_SECONDS = 0.05


class Typed:
    """Typed messages, and answers to questions in turn."""

    is_terminal = True

    def __init__(self, *messages: str, answers: tuple[str, ...] = (), meanwhile: tuple[str, ...] = ()) -> None:
        """``meanwhile`` are lines that are typed during the first run."""
        self._messages = messages
        self._meanwhile = list(meanwhile)
        self._answers = iter(answers)
        self.prompts: list[str] = []
        """The questions."""

    async def messages(self) -> AsyncIterator[str]:
        """Yield the messages, each after a pause in which others may write."""
        for message in self._messages:
            await asyncio.sleep(PAUSE_SECONDS)
            yield message
        await asyncio.sleep(PAUSE_SECONDS)

    @contextmanager
    def listen(self, take: Callable[[str], None]) -> Iterator[None]:
        """Type the lines that come meanwhile."""
        while self._meanwhile:
            take(self._meanwhile.pop(0))
        yield

    async def ask(self, text: str) -> str:
        """Return the next answer."""
        self.prompts.append(text)
        return next(self._answers)
