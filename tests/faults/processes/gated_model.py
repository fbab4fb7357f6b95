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
        self._requests: Counter[str] = Counter()
        self._changed = threading.Condition()

    def wait_for_request(self, question: str) -> None:
        """Wait for a request with this question. Raises ``TimeoutError``."""
        with self._changed:
            if not self._changed.wait_for(lambda: question in self._requests, PATIENCE_SECONDS):
                raise TimeoutError(question)

    def count_requests(self, question: str) -> int:
        """Return the number of requests with this question from all workers."""
        with self._changed:
            return self._requests[question]

    async def behave(self, exchange: Exchange) -> None:
        question = next(content for role, content in reversed(exchange.received.prompts) if role == "user")
        question = question if isinstance(question, str) else json.dumps(question)
        with self._changed:
            self._requests[question] += 1
            self._changed.notify_all()
        gate = self.gates.pop(question, None)
        if gate is not None:
            await gate.behaviour(exchange)
        else:
            await answers(f"{question}: one two three", delay=self.pause)(exchange)
