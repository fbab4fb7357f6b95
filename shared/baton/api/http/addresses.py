"""The addresses of the API by module, and routes that are imported by their first request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module

from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

VERSION = "/v1"
NOUNS: Mapping[str, tuple[str, ...]] = {
    "runs.runs": ("/runs",),
    "threads.messages": ("/messages",),
    "threads.threads": ("/threads", "/threads/{}", "/threads/{}/messages", "/threads/{}/read", "/threads/{}/events"),
    "threads.turns": (
        "/threads/{}/turns",
        "/threads/{}/turns/{}/context",
        "/threads/{}/turns/{}/rerun",
        "/threads/{}/tool-calls",
        "/threads/{}/tasks",
        "/threads/{}/tasks/{}",
        "/threads/{}/handoffs",
    ),
    "threads.controls": (
        "/threads/{}/messages/{}/feedback",
        "/threads/{}/cancel",
        "/threads/{}/exit",
        "/threads/{}/continue",
        "/threads/{}/close",
    ),
    "threads.incoming_events": ("/threads/{}/events",),
    "threads.queue": ("/threads/{}/queue", "/threads/{}/queue/{}"),
    "threads.background": (
        "/threads/{}/background",
        "/threads/{}/background/{}",
        "/callbacks/{}",
        "/callbacks/{}/notifications",
    ),
    "threads.branches": (
        "/threads/{}/fork",
        "/threads/{}/sandbox",
        "/threads/{}/merge",
        "/threads/{}/branches",
        "/threads/{}/branches/{}/select",
    ),
    "desks.desks": (
        "/desk",
        "/desk/desks",
        "/threads/{}/desk",
        "/threads/{}/desk/take",
        "/threads/{}/desk/messages",
        "/threads/{}/desk/notes",
        "/threads/{}/desk/typing",
        "/threads/{}/desk/draft",
        "/threads/{}/desk/return",
        "/threads/{}/desk/transfer",
    ),
    "desks.desk_events": ("/desk/events",),
    "schedules.schedules": ("/schedules", "/schedules/{}"),
    "threads.files": ("/threads/{}/files",),
    "threads.workflows": ("/workflows", "/workflows/completed"),
    "memory.episodes": ("/episodes", "/episodes/{}"),
    "tenants.audit": ("/threads/{}/audit", "/audit", "/audit/export"),
    "agents.agents": ("/agents", "/agents/{}"),
    "agents.versions": (
        "/agents/{}/versions",
        "/agents/{}/versions/{}",
        "/agents/{}/rollback",
        "/agents/{}/share",
        "/agents/{}/promote",
        "/agents/{}/candidate",
        "/agents/{}/figures",
    ),
    "documents.documents": (
        "/agents/{}/documents",
        "/agents/{}/documents/{}",
        "/agents/{}/libraries",
        "/agents/{}/libraries/{}/documents",
        "/agents/{}/sources",
        "/agents/{}/sources/{}",
        "/agents/{}/sources/{}/refresh",
    ),
    "documents.knowledge": ("/agents/{}/knowledge/search",),
    "tenants.personal_data": (
        "/users/{}/memory",
        "/threads/{}",
        "/forget-requests/{}",
        "/users/{}/export",
        "/retention",
    ),
    "http.caller": ("/users/me",),
    "memory.procedures": (
        "/agents/{}/procedures",
        "/agents/{}/procedures/{}",
        "/agents/{}/procedures/{}/SKILL.md",
        "/agents/{}/procedures/{}/approve",
        "/agents/{}/procedures/{}/reject",
    ),
    "memory.skills": (
        "/procedures",
        "/agents/{}/procedures/{}/source",
        "/skills",
        "/agents/{}/procedures/{}/offer",
        "/agents/{}/procedures/{}/share",
        "/agents/{}/procedures/{}/decline",
    ),
    "tenants.overview": ("/overview",),
    "tenants.usage": ("/usage",),
    "agents.evaluations": ("/evaluations", "/evaluations/{}"),
    "tenants.limits": ("/tenant/limits",),
    "tenants.tenant_export": ("/tenant-export",),
    "tenants.removal": ("/tenant/removal", "/tenant/removal/confirm"),
    "tenants.hooks": ("/hooks/{}",),
    "tenants.webhooks": ("/webhooks/deliveries", "/webhooks/deliveries/{}/redeliver"),
    "agents.models": ("/models", "/models/check"),
    "http.docs_page": ("/docs", "/docs/{}"),
}
"""The paths of each module's routes below ``VERSION``, with ``{}`` for a parameter.

If two modules have the same path, their routes are tried in the order of this mapping.
"""
PROTOCOLS: Mapping[str, tuple[str, ...]] = {
    "a2a.bindings.router": ("/a2a", "/a2a/{}"),
    "a2a.bindings.rest_router": ("/a2a/v1/*", "/a2a/{}/v1/*"),
    "a2a.cards": ("/.well-known/*", "/a2a", "/a2a/{}", "/a2a/{}/.well-known/*", "/agent/*"),
    "mcp.router": ("/mcp", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"),
}
"""The same for protocols, whose paths are not below ``VERSION``. ``*`` matches any rest of a path."""


@cache
def list_deferred_routes() -> Sequence[DeferredRoutes]:
    """Return the deferred routes of all modules, which all applications in this process share."""
    nouns = [(module, tuple(VERSION + path for path in paths)) for module, paths in NOUNS.items()]
    return tuple(DeferredRoutes(f"baton.api.{module}", paths) for module, paths in [*nouns, *PROTOCOLS.items()])


def load_routes(*modules: str) -> None:
    """Import the routes of ``modules`` in advance. A module is named as in ``NOUNS`` and ``PROTOCOLS``."""
    for deferred_route in list_deferred_routes():
        if deferred_route.module.removeprefix("baton.api.") in modules:
            deferred_route.load()


PATTERNS = {"{}": "[^/]+", "*": ".+"}
"""The regular expressions of placeholders in paths."""


class DeferredRoutes(BaseRoute):
    """The routes of one module's ``router``.

    When a module is imported, FastAPI analyses its endpoints and builds the validators of their parameters and answers.
    For all modules together, this takes longer than the rest of a function's start, although a request needs only one
    module. If all modules are imported and all models built, ``http`` takes 1.81 s of CPU time to start, instead of
    1.18 s.
    """

    def __init__(self, module: str, paths: Sequence[str]) -> None:
        """``paths`` are the paths of the routes, with ``{}`` for a parameter and ``*`` for any rest."""
        self.module = module
        self.paths = tuple(paths)
        parts = [re.split(r"(\{\}|\*)", path) for path in paths]
        any_path = "|".join("".join(PATTERNS.get(part) or re.escape(part) for part in path) for path in parts)
        self._path = re.compile(any_path)

    @cached_property
    def routes(self) -> Sequence[BaseRoute]:
        """The routes. The first access imports the module."""
        routes: Sequence[BaseRoute] = import_module(self.module).router.routes
        return routes

    def load(self) -> None:
        """Import the module now."""
        _ = self.routes

    def includes(self, path: str) -> bool:
        """Return whether a request for ``path`` may be for one of the routes."""
        return self._path.fullmatch(path) is not None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the match of the first route with this path and method, otherwise of the first route with this path.

        Return ``Match.NONE`` if no route has the path.
        """
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
        """Answer with the route that ``matches`` has found and stored in the scope."""
        route: BaseRoute = scope["route"]
        await route.handle(scope, receive, send)
