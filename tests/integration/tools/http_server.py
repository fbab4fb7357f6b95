"""A real HTTP service: it repeats its requests, and can be unwell in several ways."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
SPEC: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "{scheme}api", "variables": {"scheme": {"default": "/"}}}],
    "paths": {
        "/pets/{petId}": {
            "parameters": [{"$ref": "#/components/parameters/PetId"}],
            "put": {
                "operationId": "updatePet",
                "summary": "Change a pet.",
                "parameters": [
                    {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                    {
                        "name": "fields",
                        "in": "query",
                        "explode": False,
                        "schema": {"type": "array", "items": {"type": "string"}},
                    },
                    {"name": "X-Reason", "in": "header", "description": "Why.", "schema": {"type": "string"}},
                    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                    {"name": "theme", "in": "cookie", "schema": {"type": "string"}},
                ],
                "requestBody": {"$ref": "#/components/requestBodies/Pet"},
            },
        },
        "/page": {"get": {"operationId": "getPage"}},
    },
    "components": {
        "parameters": {"PetId": {"name": "petId", "in": "path", "required": True, "schema": {"type": "string"}}},
        "requestBodies": {
            "Pet": {
                "required": True,
                "content": {"application/json; charset=utf-8": {"schema": {"$ref": "#/components/schemas/Pet"}}},
            }
        },
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "nullable": True},
                    "age": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                    "parent": {"$ref": "#/components/schemas/Pet"},
                },
            }
        },
    },
}


async def echo(request: Request) -> Response:
    """Return all parts of the request."""
    body = await request.body()
    return JSONResponse(
        {
            "method": request.method,
            "path": request.scope["raw_path"].decode(),
            "query": request.query_params.multi_items(),
            "headers": dict(request.headers),
            "body": body.decode(),
        }
    )


async def page(request: Request) -> Response:
    return Response("<html>Welcome</html>", media_type="text/html")


async def status(request: Request) -> Response:
    return JSONResponse({"problem": "details of it"}, status_code=request.path_params["code"])


async def picture(request: Request) -> Response:
    return Response(b"\x89PNG", media_type="image/png")


async def nothing(request: Request) -> Response:
    return Response(status_code=204)


async def large(request: Request) -> Response:
    return Response(b"x" * (10 * 1024 * 1024 + 1), media_type="text/plain")


async def endless(request: Request) -> Response:
    async def forever() -> AsyncIterator[bytes]:
        while True:
            yield b"again " * 10_000
            await asyncio.sleep(0)  # where the service learns that its client has gone

    return StreamingResponse(forever(), media_type="text/plain")


async def later(request: Request) -> Response:
    """Accept work whose state is at ``location``, and repeat the headers of the call."""
    headers = {"Location": request.query_params["location"]} if "location" in request.query_params else {}
    return JSONResponse(dict(request.headers), 202, headers)


async def redirect(request: Request) -> Response:
    return RedirectResponse(request.query_params["to"], int(request.query_params.get("code", 302)))


async def spec(request: Request) -> Response:
    return JSONResponse(SPEC)


APP = Starlette(
    routes=[
        Route("/page", page),
        Route("/api/page", page),
        Route("/status/{code:int}", status, methods=METHODS),
        Route("/picture", picture),
        Route("/nothing", nothing, methods=METHODS),
        Route("/large", large),
        Route("/endless", endless),
        Route("/later", later, methods=METHODS),
        Route("/redirect", redirect, methods=METHODS),
        Route("/openapi.json", spec),
        Route("/{rest:path}", echo, methods=METHODS),
    ]
)


@contextmanager
def http_server(**config: Any) -> Iterator[int]:
    """The service in a thread; yields its port."""
    subscriber = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(APP, log_level="critical", lifespan="off", **config))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [subscriber]})
    thread.start()
    try:
        yield subscriber.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        subscriber.close()
