"""The addresses of the API, by the modules that answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from baton.api.deferred_routes import DeferredRoutes

VERSION = "/v1"
NOUNS: Mapping[str, tuple[str, ...]] = {
    "runs": ("/runs",),
    "messages": ("/messages",),
    "threads": ("/threads", "/threads/{}", "/threads/{}/messages", "/threads/{}/events"),
    "feedback": ("/threads/{}/messages/{}/feedback",),
    "turns": ("/threads/{}/turns", "/threads/{}/turns/{}/context", "/threads/{}/turns/{}/rerun"),
    "run_records": ("/threads/{}/tool-calls", "/threads/{}/tasks", "/threads/{}/tasks/{}", "/threads/{}/handoffs"),
    "controls": ("/threads/{}/cancel", "/threads/{}/exit", "/threads/{}/continue", "/threads/{}/close"),
    "forks": ("/threads/{}/fork", "/threads/{}/sandbox", "/threads/{}/merge"),
    "branches": ("/threads/{}/branches", "/threads/{}/branches/{}/select"),
    "files": ("/threads/{}/files",),
    "episodes": ("/episodes", "/episodes/{}"),
    "audit": ("/threads/{}/audit", "/audit", "/audit/export"),
    "agents": (
        "/agents",
        "/agents/{}",
        "/agents/{}/versions",
        "/agents/{}/versions/{}",
        "/agents/{}/rollback",
    ),
    "documents": ("/agents/{}/documents", "/agents/{}/documents/{}"),
    "sources": ("/agents/{}/sources", "/agents/{}/sources/{}", "/agents/{}/sources/{}/refresh"),
    "knowledge": ("/agents/{}/knowledge/search",),
    "personal_data": ("/users/{}/memory", "/threads/{}", "/forget-requests/{}", "/users/{}/export", "/retention"),
    "caller": ("/users/me", "/workflows"),
    "procedures": (
        "/agents/{}/procedures",
        "/agents/{}/procedures/{}",
        "/agents/{}/procedures/{}/SKILL.md",
        "/agents/{}/procedures/{}/approve",
        "/agents/{}/procedures/{}/reject",
    ),
    "procedure_review": ("/procedures", "/agents/{}/procedures/{}/source"),
    "skills": (
        "/skills",
        "/agents/{}/procedures/{}/offer",
        "/agents/{}/procedures/{}/share",
        "/agents/{}/procedures/{}/decline",
    ),
    "overview": ("/overview",),
    "evaluations": ("/evaluations", "/evaluations/{}"),
    "limits": ("/tenant/limits",),
    "models": ("/models", "/models/check"),
    "docs_page": ("/docs", "/docs/{}"),
}
"""The paths of each module's routes below ``VERSION``, with ``{}`` for a parameter.

Of two modules with the same path, the first is asked first.
"""
PROTOCOLS: Mapping[str, tuple[str, ...]] = {
    "a2a.router": ("/a2a", "/a2a/{}"),
    "a2a.rest_router": ("/a2a/v1/*", "/a2a/{}/v1/*"),
    "a2a.card_router": ("/.well-known/*", "/a2a", "/a2a/{}", "/a2a/{}/.well-known/*", "/agent/*"),
    "mcp.router": ("/mcp", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"),
}
"""The same for protocols, whose paths are not below ``VERSION``; ``*`` is any rest of a path."""


@cache
def deferred_routes() -> Sequence[DeferredRoutes]:
    """Return the routes of every application in this process."""
    nouns = [(noun, tuple(VERSION + path for path in paths)) for noun, paths in NOUNS.items()]
    return tuple(DeferredRoutes(f"baton.api.{module}", paths) for module, paths in [*nouns, *PROTOCOLS.items()])


def load_routes(*modules: str) -> None:
    """Import the routes of modules in advance."""
    for each in deferred_routes():
        if each.module.removeprefix("baton.api.") in modules:
            each.load()
