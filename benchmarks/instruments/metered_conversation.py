"""A conversation on a metered Baton, of which each turn, title and summary has a known cost."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterable
from datetime import timedelta

from baton.domain.threads.events import Event
from baton.domain.threads.queued import QueuedSummary, QueuedTitle, Subscriber
from baton.threads.requests.parsing import parse_message_request
from benchmarks.capacity import Request
from benchmarks.instruments.metered_baton import SCOPE, Baton
from benchmarks.instruments.ports import Record
from benchmarks.instruments.turn_cost_tables import ConversationCost, TurnCost
from benchmarks.workload import QUESTION, STREAM_SECONDS, measure_model_cpu

CONNECTION_ID = "L0SM9cOFvHcCIhw="
"""An id of the length of API Gateway's."""


class Conversation:
    """Turns of one thread on a metered Baton, with or without a connection."""

    def __init__(self, baton: Baton, thread_id: str, *, connected: bool, moves: bool = False) -> None:
        """Prepare turns. If ``moves``, another worker runs each turn, so that no worker has the history in memory."""
        self._moves = moves
        self._baton = baton
        self._thread_id = thread_id
        self._connected = connected
        self._turn = 0
        self._requests: list[Request] = []
        self._s3_requests = 0
        self.summaries: list[tuple[Request, ...]] = []
        """The requests of each summary of messages that have left the history."""
        self.titles: list[tuple[Request, ...]] = []
        """The requests of each title."""

    async def go_on(self, turns: int, *, seconds: float = 0.0) -> None:
        """Run turns whose answers are streamed for ``seconds``. They count only in ``sum_up``."""
        for _ in range(turns):
            self._baton.meter.take()
            self._baton.s3_requests = 0
            await self._run(seconds, 0.0)
            self._add(self._baton.meter.take(), self._baton.s3_requests)
            await self._summarise()

    async def measure_turn(self) -> TurnCost:
        """Run a plain turn, and return its cost. Raises ``RuntimeError`` if it fails."""
        baton = self._baton
        baton.meter.take()
        baton.s3_requests = 0
        baton.client.frames.clear()
        loop = asyncio.get_running_loop()
        gc.collect()  # a full collection during a turn would triple its CPU time
        began, cpu_before = loop.time(), time.process_time()
        await self._run(STREAM_SECONDS, baton.silence)
        seconds, cpu_seconds = loop.time() - began, time.process_time() - cpu_before
        requests, frames = baton.meter.take(), len(baton.client.frames)
        self._add(requests, baton.s3_requests)
        files = baton.files.of_thread(SCOPE, self._thread_id)
        model_cpu = await measure_model_cpu(files)
        await self._summarise()
        return TurnCost(self._turn, requests, baton.s3_requests, frames, seconds, cpu_seconds, model_cpu)

    def sum_up(self) -> ConversationCost:
        """Return the cost of all turns so far, with their titles and summaries."""
        aside = (request for requests in (*self.titles, *self.summaries) for request in requests)
        return ConversationCost(self._turn, (*self._requests, *aside), self._s3_requests)

    def _add(self, requests: Iterable[Request], s3_requests: int) -> None:
        self._requests += requests
        self._s3_requests += s3_requests

    async def _summarise(self) -> None:
        """Write the title or summary that the last turn has requested, as another worker would. Count it separately."""
        baton = self._baton
        for scope, message in baton.queue.take():
            baton.model.seconds = baton.model.silence = 0.0
            baton.meter.take()
            if isinstance(message, QueuedTitle):
                await baton.made_titles.make(scope, message.thread_id)
                self.titles.append(baton.meter.take())
                continue
            assert isinstance(message, QueuedSummary)  # noqa: S101 - turns queue nothing else
            await baton.summaries.write(scope, message.due)
            self.summaries.append(baton.meter.take())

    async def _run(self, seconds: float, silence: float) -> None:
        """Run a turn. Its answer begins after ``silence`` and takes ``seconds``.

        Raises ``RuntimeError`` if the turn fails.
        """
        self._turn += 1
        baton = self._baton
        if self._moves:
            baton.forget_histories()
        baton.model.seconds, baton.model.silence = seconds, silence
        subscriber = Subscriber(CONNECTION_ID, baton.clock.now() + timedelta(hours=1)) if self._connected else None
        record = Record() if self._connected else None
        request = parse_message_request(
            SCOPE, thread_id=self._thread_id, message_id=baton.clock.new_id(), content=QUESTION
        )
        events: list[Event] = []
        await baton.turns.run(SCOPE, request, events.append, seconds=60, subscriber=subscriber, record=record)
        if events[-1].type != "RUN_FINISHED":
            raise RuntimeError(f"turn {self._turn} ended with {events[-1].json()}")
