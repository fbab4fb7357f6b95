"""A stand-in: a web app that streams."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[Mapping[str, Any]]:
    app.state.alive = True
    yield {}


async def stream(request: Request) -> StreamingResponse:
    context = json.loads(request.headers["x-amzn-request-context"])
    body = await request.body()

    async def lines() -> AsyncIterator[str]:
        yield json.dumps({"alive": app.state.alive, "requestId": context["requestId"], "path": request.url.path}) + "\n"
        yield body.decode()

    return StreamingResponse(lines(), media_type="text/event-stream")


app = Starlette(
    routes=[Route("/v1/runs", stream, methods=["POST"]), Route("/v1/threads/{thread_id}/events", stream)],
    lifespan=lifespan,
)
