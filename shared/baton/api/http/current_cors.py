"""CORS for the web pages that may call now: the settings may change while the process runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from baton.api.http.dependencies import use_cases

Origins = Callable[[], Sequence[str]]


def allow_any_origin() -> Sequence[str]:
    """Return the list that allows every page."""
    return ("*",)


class CurrentCors:
    """Starlette's middleware, with the origins that ``origins`` returns at each request of a web page.

    Programs send no ``Origin``, so that their requests do not need the settings. ``options`` are those of Starlette.
    """

    def __init__(self, app: ASGIApp, /, origins: Origins, **options: Any) -> None:
        self._app = app
        self._origins = origins
        self._options = options
        self._latest: tuple[Sequence[str], CORSMiddleware] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight, or add the headers to the app's answer."""
        if scope["type"] != "http" or not any(name == b"origin" for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        await use_cases(Request(scope))  # the origins are read with the other settings
        await self._middleware()(scope, receive, send)

    def _middleware(self) -> CORSMiddleware:
        origins, latest = self._origins(), self._latest
        if latest is None or latest[0] != origins:
            middleware = CORSMiddleware(self._app, allow_origins=list(origins), **self._options)
            latest = self._latest = (origins, middleware)
        return latest[1]
