"""The queue engine: SQS's JSON protocol on a free port of 127.0.0.1."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from baton.concurrency.tasks import stop_all
from baton_local.engines.queues.journal import Journal
from baton_local.engines.queues.service import Json, SqsError, SqsService
from baton_local.serving.hosts import LocalHosts
from baton_local.serving.server import Server, claim

TARGET = "AmazonSQS."

logger = logging.getLogger("baton_local.queues")


class Queues:
    """The queues of the local cloud, FIFO and standard, on a separate thread."""

    def __init__(self, data_dir: Path | None = None) -> None:
        """``data_dir`` is the folder that keeps the queues; None keeps them in memory only."""
        self._data_dir = data_dir
        self._running = ExitStack()

    def start(self) -> str:
        """Start the queues and return their URL. Raises ``EngineFailed`` when another local cloud has the folder."""
        listener = claim(0)
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with ExitStack() as starting:
            starting.callback(listener.close)
            journal = Journal(self._data_dir / "queues.db") if self._data_dir else None
            if journal:
                starting.callback(journal.close)
            service = SqsService(endpoint, journal)
            server = Server(make_sqs_app(service), listener, name="queues")
            starting.callback(server.stop)
            server.start()
            starting.callback(server.call, service.release)
            self._running = starting.pop_all()
        return endpoint

    def stop(self) -> None:
        """Stop the queues. No error if they do not run."""
        self._running.close()


def make_sqs_app(service: SqsService) -> Starlette:
    """Return the service as a web app, for programs of this machine."""
    hosts = LocalHosts()

    async def answer(request: Request) -> Response:
        if reason := hosts.find_refusal(request.scope):
            return _make_response(403, {"__type": "com.amazonaws.sqs#AccessDenied", "message": reason})
        action = request.headers.get("x-amz-target", "").removeprefix(TARGET)
        try:
            return _make_response(
                200, await _handle_unless_gone(request, service.handle(action, json.loads(await request.body())))
            )
        except ClientDisconnect:
            return Response()
        except SqsError as problem:
            return _make_response(400, {"__type": f"com.amazonaws.sqs#{problem.code}", "message": str(problem)})
        except sqlite3.Error as problem:
            logger.exception("%s was not kept on disk", action)
            return _make_response(500, {"__type": "com.amazonaws.sqs#InternalFailure", "message": str(problem)})
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            kind = type(problem).__name__
            return _make_response(
                400, {"__type": "com.amazonaws.sqs#InvalidParameterValue", "message": f"{kind}: {problem}"}
            )

    return Starlette(routes=[Route("/{path:path}", answer, methods=["POST"])])


async def _handle_unless_gone(request: Request, handling: Coroutine[Any, Any, Json]) -> Json:
    """Return the answer of ``handling``. Cancel it and raise ``ClientDisconnect`` if the client leaves before.

    A client that has left gets no message, so messages stay visible for others.
    """
    work = asyncio.ensure_future(handling)
    gone = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        return work.result()
    finally:
        await stop_all(work, gone)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _make_response(status: int, content: Json) -> Response:
    return Response(json.dumps(content), status, media_type="application/x-amz-json-1.0")
