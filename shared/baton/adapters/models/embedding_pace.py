"""The pace of background requests to one embedding model: how many run in parallel, and how many texts each has.

Additive increase and multiplicative decrease, as TCP's congestion avoidance (Chiu and Jain, 1989): a provider that
slows down or refuses gets fewer requests, and the requests that wait here do not load it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SLOW_SECONDS = 2.0
"""The longest time that a request should take. Slower ones slow the pace: users' questions may wait for them."""
GROWTH = 0.25
"""The growth of the number of parallel requests with each round of answers, once the endpoint has slowed down. With 1,
every other round would be refused. Before the endpoint slows down, each answer adds a request."""
MAX_PAUSE_SECONDS = 60.0
"""The longest pause that an endpoint may ask for."""


class EmbeddingPace:
    """A limit on the background requests of one event loop, which begin in the order of their calls of ``turn``."""

    def __init__(self, most_requests: int, most_texts: int) -> None:
        """The API allows ``most_requests`` parallel requests, and ``most_texts`` in each of them."""
        self._most_requests = most_requests
        self._most_texts = most_texts
        self._requests = 1.0
        self.texts = most_texts
        """The number of texts that a request may have now."""
        self._busy = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._has_slowed = False
        self._slowed_at = 0.0

    @property
    def requests(self) -> int:
        """The number of requests that may run at the same time now."""
        return int(self._requests)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of a request, and keep it during the block."""
        if self._busy < self.requests and not self._waiting:
            self._busy += 1
        else:
            await self._wait_for_turn()
        try:
            yield
        finally:
            self._leave()

    def note_answer(self, texts: int, began: float) -> None:
        """Note an answer to a request with this number of ``texts``, sent at ``began``, a time of the event loop.

        A quick answer raises the limits; an answer after more than ``SLOW_SECONDS`` lowers them.
        """
        seconds = asyncio.get_running_loop().time() - began
        if seconds > SLOW_SECONDS:
            self._slow_down(texts, began)
            return
        growth = GROWTH / self._requests if self._has_slowed else 1.0
        self._requests = min(self._most_requests, self._requests + growth)
        if seconds < SLOW_SECONDS / 4 and texts >= self.texts:
            self.texts = min(self._most_texts, self.texts * 2)

    def note_timeout(self, texts: int, began: float) -> None:
        """Note that a request, described as in ``note_answer``, was not answered in time.

        The endpoint may still work on the request, so no other is sent for as long as it took, at most
        ``MAX_PAUSE_SECONDS``.
        """
        now = asyncio.get_running_loop().time()
        self._slow_down(texts, began)
        self._paused_until = max(self._paused_until, now + min(now - began, MAX_PAUSE_SECONDS))

    def note_refusal(self, began: float, pause: float) -> None:
        """Note that the overloaded endpoint has refused a request of the time ``began``.

        No request is sent for ``pause`` seconds.
        """
        # ``_slow_down`` halves the number of texts, about which a refusal says nothing.
        self._slow_down(self.texts * 2, began)
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + pause)

    def _slow_down(self, texts: int, began: float) -> None:
        """Halve the parallel requests, and allow half of ``texts`` in one request."""
        # Requests that were sent together count once.
        if began >= self._slowed_at:
            self._requests = max(1.0, self._requests / 2)
            self._has_slowed = True
            self._slowed_at = asyncio.get_running_loop().time()
        self.texts = max(1, min(self.texts, texts // 2))

    async def _wait_for_turn(self) -> None:
        """Wait until ``_leave`` gives this request the turn, after those that wait already."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the turn came at the same moment
            raise

    async def wait_for_pause_end(self) -> None:
        """Wait until requests may be sent again."""
        loop = asyncio.get_running_loop()
        while (seconds := self._paused_until - loop.time()) > 0:  # noqa: ASYNC110  the pause may have been prolonged
            await asyncio.sleep(seconds)

    def _leave(self) -> None:
        """End a request's turn, and give turns to requests that wait."""
        self._busy -= 1
        while self._waiting and self._busy < self.requests:
            turn = self._waiting.popleft()
            if not turn.done():  # cancelled requests stay in the line: several may be cancelled before any of them runs
                self._busy += 1
                turn.set_result(None)


class EmbeddingPaces:
    """The paces of a process, one for each endpoint and model."""

    def __init__(self) -> None:
        self._paces: dict[str, EmbeddingPace] = {}

    def of(self, circuit: str, most_requests: int, most_texts: int) -> EmbeddingPace:
        """Return the pace of an endpoint and model, with the limits of the first call for this ``circuit``.

        The operator's settings bound the number of paces.
        """
        return self._paces.setdefault(circuit, EmbeddingPace(most_requests, most_texts))
