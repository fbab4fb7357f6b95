"""Ids in paths: a host's own id of a thread may hold any printable character, a slash too."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path
from starlette.types import ASGIApp, Receive, Scope, Send

from baton.api.schemas import THREAD_ID


class EncodedSegments:
    """ASGI middleware that keeps an encoded slash within a segment apart from the slash between two.

    Servers decode the whole path before it is routed, so ``/threads/a%2Fb`` would be routed as ``/threads/a/b``. Here
    each segment is decoded by itself, and ``%`` and ``/`` in it stay encoded: ``thread_in_path`` undoes that.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "path": "/".join(map(_kept_apart, _segments(scope)))}
        await self._app(scope, receive, send)


def _segments(scope: Scope) -> list[str]:
    """The segments, decoded, of the path as it was sent: the server tells it, or the event of a REST API."""
    raw: bytes | None = scope.get("raw_path")
    sent = raw.decode("latin-1") if raw is not None else (scope.get("aws.event") or {}).get("path")
    if isinstance(sent, str):
        return [unquote(segment) for segment in sent.split("/")]
    path: str = scope["path"]
    return path.split("/")


def _kept_apart(segment: str) -> str:
    return segment.replace("%", "%25").replace("/", "%2F")


def thread_in_path(
    thread_id: Annotated[
        str, Path(description="The thread's UUID, or the host's own id, percent-encoded.", examples=[THREAD_ID])
    ],
) -> str:
    """The thread that a path names."""
    return unquote(thread_id)


ThreadId = Annotated[str, Depends(thread_in_path)]
