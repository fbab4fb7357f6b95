"""A turn that a call has begun. It goes on if the caller hangs up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aws_lambda_powertools import Logger

from baton.api.mcp.arguments import Asked
from baton.api.mcp.caller import McpCaller
from baton.api.runs import TURN_SECONDS
from baton.domain.errors import BatonError, InternalError, TokenExpired
from baton.domain.events import Event
from baton.domain.metrics import Metric, count
from baton.turns.committing import FinishedRun

logger = Logger(child=True)

_working: set[asyncio.Task[Any]] = set()
"""Turns in progress. A task without a reference may be garbage-collected."""


class RunningTurn:
    """Runs the turn in a task of its own, from its construction on."""

    def __init__(self, caller: McpCaller, asked: Asked) -> None:
        self._caller = caller
        self._asked = asked
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._begun = asyncio.Event()
        self._work = asyncio.ensure_future(self._run())
        _keep(self._work)

    async def _run(self) -> FinishedRun | None:
        turns, asked = self._caller.services.turns, self._asked
        try:
            return await turns.answer(asked.owner, asked.request, self._emit, seconds=TURN_SECONDS)
        except BatonError:
            raise
        except Exception:
            logger.exception("run failed")
            count(Metric.INTERNAL_FAULTS)
            raise InternalError from None
        finally:
            self._begun.set()
            self._events.put_nowait(None)

    def _emit(self, event: Event) -> None:
        self._begun.set()
        self._events.put_nowait(event)

    async def finished(self, tell: Callable[[Event | None], Awaitable[None]]) -> FinishedRun | None:
        """Wait for the end of the run; None if it waits for more answers. ``tell`` gets its events.

        ``tell`` gets None when there was no event for some seconds. Raises the ``BatonError`` that refuses the request,
        and ``TokenExpired`` when the caller's token does.
        """
        loop, caller = asyncio.get_running_loop(), self._caller
        while True:
            try:
                async with asyncio.timeout_at(min(loop.time() + caller.timing.comment_seconds, caller.ends_at)):
                    event = await self._events.get()
            except TimeoutError:
                if loop.time() >= caller.ends_at:
                    raise TokenExpired from None
                await tell(None)
                continue
            if event is None:
                return await asyncio.shield(self._work)
            await tell(event)

    def stop(self) -> None:
        """Cancel the run, as soon as it has begun."""
        _keep(asyncio.ensure_future(self._stop()))

    async def _stop(self) -> None:
        await self._begun.wait()
        if self._work.done():
            return
        request = self._asked.request
        try:
            await self._caller.services.controls.cancel(self._caller.scope, request.thread.id, request.run_id)
        except Exception:
            logger.exception("a run was not cancelled")
            count(Metric.RUNS_NOT_STOPPED)


def _keep(task: asyncio.Task[FinishedRun | None] | asyncio.Task[None]) -> None:
    """Keep a task until its end."""
    _working.add(task)
    task.add_done_callback(_ended)


def _ended(task: asyncio.Task[Any]) -> None:
    _working.discard(task)
    if not task.cancelled():
        task.exception()  # it is told to the caller, who may not be there any more
