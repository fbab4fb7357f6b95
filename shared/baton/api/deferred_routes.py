"""Routes of a module that is imported by the first request which may be for one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module

from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

PATTERNS = {"{}": "[^/]+", "*": ".+"}
"""The parts of paths that stand for others, as regular expressions."""


class DeferredRoutes(BaseRoute):
    """The routes of one module's ``router``.

    FastAPI analyses endpoints and builds the validators of their parameters and answers when a module is imported. For
    all modules together that takes longer than the rest of a function's start, and a request needs one of them: without
    this, and with all models loaded, ``http`` took 1.81 s of CPU time to start, and 1.18 since.
    """

    def __init__(self, module: str, paths: Sequence[str]) -> None:
        """``paths`` are those of the routes, with ``{}`` for a parameter and ``*`` for any rest."""
        self.module = module
        self.paths = tuple(paths)
        any_path = "|".join("".join(map(_to_pattern, re.split(r"(\{\}|\*)", path))) for path in paths)
        self._path = re.compile(any_path)

    @cached_property
    def routes(self) -> Sequence[BaseRoute]:
        """The routes. The module is imported when they are first read."""
        routes: Sequence[BaseRoute] = import_module(self.module).router.routes
        return routes

    def load(self) -> None:
        """Import the module now."""
        _ = self.routes

    def includes(self, path: str) -> bool:
        """Return whether a request for ``path`` may be for one of the routes."""
        return self._path.fullmatch(path) is not None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the match of the first route for path and method, otherwise of the first for the path."""
        if scope["type"] != "http" or not self.includes(scope["path"]):
            return Match.NONE, {}
        best: tuple[Match, Scope] = (Match.NONE, {})
        for route in self.routes:
            match, child = route.matches(scope)
            if match is Match.FULL:
                return match, child
            if match is Match.PARTIAL and best[0] is Match.NONE:
                best = (match, child)
        return best

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by the route that ``matches`` has found, which has named itself in the scope."""
        route: BaseRoute = scope["route"]
        await route.handle(scope, receive, send)


def _to_pattern(part: str) -> str:
    return PATTERNS.get(part) or re.escape(part)
