"""The channel as an ASGI app: two doors, and a worker beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from baton_slack.channel import Channel, Worker
from baton_slack.doors import MAX_BODY, Reply
from baton_slack.storage import SqliteStorage


def make_app(channel: Channel, storage: SqliteStorage) -> Starlette:
    """Return the app: ``POST /slack`` for events and actions of Slack, ``POST /baton`` for Baton's webhook."""

    @asynccontextmanager
    async def run_worker(app: Starlette) -> AsyncIterator[None]:
        await channel.workspace.get_bot_id()  # a wrong token or workspace is noticed now
        worker = asyncio.create_task(Worker(channel, storage).run())
        app.state.worker = worker
        try:
            yield
        finally:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker
            await channel.aclose()

    async def health(request: Request) -> Response:
        return Response("the worker has ended", 503) if request.app.state.worker.done() else Response("ok")

    routes = [
        Route("/slack", _make_door(channel.doors.take_slack), methods=["POST"]),
        Route("/baton", _make_door(channel.doors.take_baton), methods=["POST"]),
        Route("/health", health),
    ]
    return Starlette(routes=routes, lifespan=run_worker)


def _make_door(take: Callable[[bytes, Mapping[str, str]], Reply]) -> Callable[[Request], object]:
    """Return a handler that passes requests of at most ``MAX_BODY`` bytes to ``take``."""

    async def answer(request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                return Response(status_code=413)
        reply = take(bytes(body), request.headers)
        return Response(reply.body, reply.status, media_type=reply.media_type)

    return answer
