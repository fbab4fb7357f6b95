"""A local cloud that tests can drive: its posts are refused, its workers killed, its sweeper fired."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import Future
from typing import Any

from baton_local.cloud import LocalCloud
from baton_local.serving.asgi import AsgiApp, Receive, Scope, Send, answer

PATIENCE_SECONDS = 30.0


def is_alive(pid: int) -> bool:
    """Return whether there is a process with this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class DrivenCloud(LocalCloud):
    """``LocalCloud`` with what no developer needs."""

    def throttle_posts(self, posts: int) -> None:
        """Have the next ``posts`` posts to connections refused with 429, as API Gateway does over a limit."""
        self.refuse_posts(posts, 429, "LimitExceededException")

    def refuse_posts(self, posts: int, status: int, kind: str) -> None:
        """Have the next ``posts`` posts to connections refused with a status and AWS's name of the error."""
        self._refusals.status, self._refusals.kind, self._refusals.posts = status, kind, posts

    def worker_pids(self, *, busy: bool = False) -> list[int]:
        """The process ids of the worker processes that are ready, or of those only that are at work."""
        return self._worker_processes.pids(busy=busy) if self._worker_processes else []

    def wait_for_workers(self) -> None:
        """Return when as many worker processes are ready as there should be. Raises ``EngineFailed`` after a minute."""
        if self._worker_processes:
            self._worker_processes.wait()

    def kill_worker(self, pid: int) -> None:
        """Kill a worker process as ``kill -9`` does and return when it is gone; another one takes its place."""
        os.kill(pid, signal.SIGKILL)
        gives_up_at = time.monotonic() + PATIENCE_SECONDS
        while pid in self.worker_pids() or is_alive(pid):  # until its supervisor has read its status
            assert time.monotonic() < gives_up_at, f"The worker {pid} is not gone."
            time.sleep(0.005)

    def sweep_now(self) -> Any:
        """Fire the sweeper's schedule and return what the function answers; raises what it raises."""
        return self._schedulers["SweeperFunction"].fire()

    def read_sources_now(self) -> Any:
        """Fire the schedule on which sources of documents are read; return what the function answers."""
        return self._schedulers["IngestionFunction"].fire()

    def invoke(self, function: str, event: Any) -> Future[Any]:
        """Have a queue-fed function handle an event beside the queue, in a worker process if there are any."""
        workers = self._worker_processes
        return workers.invoke(function, event) if workers else self.functions.by_name[function].invoke(event)

    def _management(self) -> AsgiApp:
        self._refusals = _Refusals(super()._management())
        return self._refusals


class _Refusals:
    """The API of the connections, which refuses posts for a while."""

    def __init__(self, api: AsgiApp) -> None:
        self.posts = 0
        """The number of requests that it still refuses."""
        self.status, self.kind = 429, "LimitExceededException"
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST" and self.posts > 0:
            self.posts -= 1
            headers = [("Content-Type", "application/json"), ("x-amzn-ErrorType", self.kind)]
            await answer(send, self.status, headers, b'{"message": "Refused"}')
        else:
            await self._api(scope, receive, send)
