"""Ids in paths. A host's own id of a thread may contain any printable character, including a slash."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send

from baton.domain.identity import ME
from baton.domain.procedure import RESERVED_SLUG
from baton.domain.served import RUN_ID, THREAD_ID


class EncodedSegments:
    """ASGI middleware that distinguishes an encoded slash within a segment from the slash between segments.

    Servers decode the whole path before routing, so ``/threads/a%2Fb`` would be routed as ``/threads/a/b``. This
    decodes each segment separately and keeps ``%`` and ``/`` in it encoded. ``thread_in_path`` decodes those.

    A word that stands for the caller stays encoded if it was, so that it is a user's id and not that word.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "path": "/".join(_segments(scope))}
        await self._app(scope, receive, send)


def _segments(scope: Scope) -> list[str]:
    """Return the segments of the path as it was sent, from the server or from the event of a REST API, for routing."""
    raw: bytes | None = scope.get("raw_path")
    sent = raw.decode("latin-1") if raw is not None else (scope.get("aws.event") or {}).get("path")
    if isinstance(sent, str):
        return [_kept_apart(segment) for segment in sent.split("/")]
    path: str = scope["path"]
    return [_escaped(segment) for segment in path.split("/")]


def _kept_apart(sent: str) -> str:
    segment = unquote(sent)
    if segment == ME and sent != ME:
        return "".join(f"%{ord(character):02X}" for character in segment)
    return _escaped(segment)


def _escaped(segment: str) -> str:
    return segment.replace("%", "%25").replace("/", "%2F")


class ProcedureIds(StringConvertor):
    """The ids that procedures may have, as ``{procedure_id:procedure}`` in the address of a route."""

    regex = rf"(?!{RESERVED_SLUG}$)[^/]+"


register_url_convertor("procedure", ProcedureIds())


async def thread_in_path(
    thread_id: Annotated[
        str, Path(description="The thread's UUID, or the host's own id, percent-encoded.", examples=[THREAD_ID])
    ],
) -> str:
    """Return the thread id of a path."""
    return unquote(thread_id)


async def run_in_path(
    run_id: Annotated[str, Path(description="The run's id, percent-encoded.", examples=[RUN_ID])],
) -> str:
    """Return the run id of a path. Clients may choose it, so it may contain a slash."""
    return unquote(run_id)


ThreadId = Annotated[str, Depends(thread_in_path)]
RunId = Annotated[str, Depends(run_in_path)]
