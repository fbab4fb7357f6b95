"""A model over HTTP that stops on request, whichever conversation asks it first."""

from __future__ import annotations

import json
import threading
from collections import Counter

from tests.e2e.gates import Gate
from tests.fault_model import Exchange, answers
from tests.faults.processes.viewer import PATIENCE_SECONDS


class GatedModel:
    """A model that answers "<question>: one two three", or what the gate of the question's name lets through."""

    def __init__(self) -> None:
        self.gates: dict[str, Gate] = {}
        self.pause = 0.0
        """Seconds between two words of an answer."""
        self._asked: Counter[str] = Counter()
        self._changed = threading.Condition()

    def wait_until_asked(self, question: str) -> None:
        """Return when the model has been asked this. Raises ``TimeoutError``."""
        with self._changed:
            if not self._changed.wait_for(lambda: question in self._asked, PATIENCE_SECONDS):
                raise TimeoutError(question)

    def times_asked(self, question: str) -> int:
        """The number of times that all workers together asked the model this."""
        with self._changed:
            return self._asked[question]

    async def behave(self, exchange: Exchange) -> None:
        question = next(content for role, content in reversed(exchange.received.prompts) if role == "user")
        question = question if isinstance(question, str) else json.dumps(question)
        with self._changed:
            self._asked[question] += 1
            self._changed.notify_all()
        gate = self.gates.pop(question, None)
        if gate is not None:
            await gate.behaviour(exchange)
        else:
            await answers(f"{question}: one two three", delay=self.pause)(exchange)
