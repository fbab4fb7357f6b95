"""The addresses of the API, by the modules that answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from baton.api.deferred_routes import DeferredRoutes

VERSION = "/v1"
NOUNS: Mapping[str, tuple[str, ...]] = {
    "runs.runs": ("/runs",),
    "threads.messages": ("/messages",),
    "threads.threads": ("/threads", "/threads/{}", "/threads/{}/messages", "/threads/{}/events"),
    "threads.feedback": ("/threads/{}/messages/{}/feedback",),
    "threads.turns": ("/threads/{}/turns", "/threads/{}/turns/{}/context", "/threads/{}/turns/{}/rerun"),
    "threads.run_records": (
        "/threads/{}/tool-calls",
        "/threads/{}/tasks",
        "/threads/{}/tasks/{}",
        "/threads/{}/handoffs",
    ),
    "threads.controls": ("/threads/{}/cancel", "/threads/{}/exit", "/threads/{}/continue", "/threads/{}/close"),
    "threads.forks": ("/threads/{}/fork", "/threads/{}/sandbox", "/threads/{}/merge"),
    "threads.branches": ("/threads/{}/branches", "/threads/{}/branches/{}/select"),
    "threads.files": ("/threads/{}/files",),
    "memory.episodes": ("/episodes", "/episodes/{}"),
    "tenants.audit": ("/threads/{}/audit", "/audit", "/audit/export"),
    "agents.agents": ("/agents", "/agents/{}", "/agents/{}/versions", "/agents/{}/versions/{}", "/agents/{}/rollback"),
    "documents.documents": ("/agents/{}/documents", "/agents/{}/documents/{}"),
    "documents.sources": ("/agents/{}/sources", "/agents/{}/sources/{}", "/agents/{}/sources/{}/refresh"),
    "documents.knowledge": ("/agents/{}/knowledge/search",),
    "tenants.personal_data": (
        "/users/{}/memory",
        "/threads/{}",
        "/forget-requests/{}",
        "/users/{}/export",
        "/retention",
    ),
    "http.caller": ("/users/me", "/workflows"),
    "memory.procedures": (
        "/agents/{}/procedures",
        "/agents/{}/procedures/{}",
        "/agents/{}/procedures/{}/SKILL.md",
        "/agents/{}/procedures/{}/approve",
        "/agents/{}/procedures/{}/reject",
    ),
    "memory.procedure_review": ("/procedures", "/agents/{}/procedures/{}/source"),
    "memory.skills": (
        "/skills",
        "/agents/{}/procedures/{}/offer",
        "/agents/{}/procedures/{}/share",
        "/agents/{}/procedures/{}/decline",
    ),
    "tenants.overview": ("/overview",),
    "agents.evaluations": ("/evaluations", "/evaluations/{}"),
    "tenants.limits": ("/tenant/limits",),
    "agents.models": ("/models", "/models/check"),
    "http.docs_page": ("/docs", "/docs/{}"),
}
"""The paths of each module's routes below ``VERSION``, with ``{}`` for a parameter.

Of two modules with the same path, the first is asked first.
"""
PROTOCOLS: Mapping[str, tuple[str, ...]] = {
    "a2a.bindings.router": ("/a2a", "/a2a/{}"),
    "a2a.bindings.rest_router": ("/a2a/v1/*", "/a2a/{}/v1/*"),
    "a2a.card_router": ("/.well-known/*", "/a2a", "/a2a/{}", "/a2a/{}/.well-known/*", "/agent/*"),
    "mcp.router": ("/mcp", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"),
}
"""The same for protocols, whose paths are not below ``VERSION``; ``*`` is any rest of a path."""


@cache
def deferred_routes() -> Sequence[DeferredRoutes]:
    """Return the routes of every application in this process."""
    nouns = [(module, tuple(VERSION + path for path in paths)) for module, paths in NOUNS.items()]
    return tuple(DeferredRoutes(f"baton.api.{module}", paths) for module, paths in [*nouns, *PROTOCOLS.items()])


def load_routes(*modules: str) -> None:
    """Import the routes of modules in advance."""
    for deferred_route in deferred_routes():
        if deferred_route.module.removeprefix("baton.api.") in modules:
            deferred_route.load()
