"""A local cloud that tests control: they can refuse its posts, kill its workers and start its sweeper."""

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
    """Return whether a process with this id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class DrivenCloud(LocalCloud):
    """A ``LocalCloud`` with further methods that only tests need."""

    def throttle_posts(self, posts: int) -> None:
        """Refuse the next ``posts`` posts to connections with 429, as API Gateway does above a limit."""
        self.refuse_posts(posts, 429, "LimitExceededException")

    def refuse_posts(self, posts: int, status: int, kind: str) -> None:
        """Refuse the next ``posts`` posts to connections with a status and AWS's name of the error."""
        self._refusals.status, self._refusals.kind, self._refusals.posts = status, kind, posts

    def worker_pids(self, *, busy: bool = False) -> list[int]:
        """Return the process ids of the worker processes that are ready, or only of those that are ``busy``."""
        return self._workers.processes.list_pids(busy=busy) if self._workers.processes else []

    def wait_for_workers(self) -> None:
        """Wait until all worker processes are ready. Raises ``EngineFailed`` after a minute."""
        if self._workers.processes:
            self._workers.processes.wait()

    def kill_worker(self, pid: int) -> None:
        """Kill a worker process with SIGKILL, and wait until it has ended. Another one replaces it."""
        os.kill(pid, signal.SIGKILL)
        gives_up_at = time.monotonic() + PATIENCE_SECONDS
        while pid in self.worker_pids() or is_alive(pid):  # the id exists until the supervisor has read the status
            assert time.monotonic() < gives_up_at, f"The worker {pid} is not gone."
            time.sleep(0.005)

    def sweep_now(self) -> Any:
        """Fire the sweeper's schedule, and return the function's answer or raise its error."""
        return self._schedulers["SweeperFunction"].fire()

    def read_sources_now(self) -> Any:
        """Fire the schedule that reads sources of documents, and return the function's answer or raise its error."""
        return self._schedulers["IngestionFunction"].fire()

    def invoke(self, function: str, event: Any) -> Future[Any]:
        """Pass an event to a function of a queue directly, in a worker process if the cloud has any."""
        workers = self._workers.processes
        return workers.invoke(function, event) if workers else self.functions.by_name[function].invoke(event)

    def _make_management_api(self) -> AsgiApp:
        self._refusals = _Refusals(super()._make_management_api())
        return self._refusals


class _Refusals:
    """The API of the connections, which refuses a number of posts."""

    def __init__(self, api: AsgiApp) -> None:
        self.posts = 0
        """The number of posts that are still refused."""
        self.status, self.kind = 429, "LimitExceededException"
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST" and self.posts > 0:
            self.posts -= 1
            headers = [("Content-Type", "application/json"), ("x-amzn-ErrorType", self.kind)]
            await answer(send, self.status, headers, b'{"message": "Refused"}')
        else:
            await self._api(scope, receive, send)
