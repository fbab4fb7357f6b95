"""The HTTP API of a deployment, with the use cases of the composition root."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from starlette.types import ASGIApp

from baton import composition
from baton.api.a2a.access import A2AAccess
from baton.api.application import create_app
from baton.api.http.addresses import load_routes
from baton.api.http.middleware import CountedRequests, FlushedTraces
from baton.api.mcp.access import McpAccess
from baton.composition.startup.preloading import HTTP_MODULES, preload
from baton.ports.tracing import NO_TRACER
from baton.settings.identity import ApiSettings

SHORT_ROUTES = ("threads.threads", "agents.agents", "http.caller")
SHORT = (
    "agents",
    "privacy.readers",
    "ports.store",
    "ports.audit",
    "ports.prices",
    "ports.verifier",
    "ports.removed_tenants",
)
"""Use cases and ports that the first request for a short answer is likely to need, as attribute paths of ``App``."""
STREAM_ROUTES = ("runs.runs", "threads.messages", "threads.threads")
STREAMED = (
    "turns",
    "follower",
    "limits.places",
    "privacy.readers",
    "ports.verifier",
    "ports.prices",
    "ports.removed_tenants",
)
"""The use cases and ports that the first request that runs or follows a turn is likely to need.

The Lambda functions load all other routes, such as those of A2A and MCP, with the first request that needs them.
"""


def build_short_app() -> CountedRequests:
    """Return the API for the function ``http``."""
    app = _build_app(SHORT_ROUTES, SHORT)
    composition.exempt_start_from_collection()
    return app


def build_streams_app() -> CountedRequests:
    """Return the API for the function ``streams``."""
    preload("sse_starlette")
    return _build_app(STREAM_ROUTES, STREAMED)


def _build_app(routes: Sequence[str], early: Sequence[str]) -> CountedRequests:
    """Return the API, with ``routes`` loaded, and the use cases and ports named by ``early`` built.

    Lambda gives a function more CPU while it starts than later, and no user waits for the start.
    """
    preload(*HTTP_MODULES)
    load_routes(*routes)
    composition.prepare_store()
    app = composition.deployed()
    for name in early:
        attrgetter(name)(app)
    current = app.ports.settings
    current.prepare()
    settings = ApiSettings()
    access = A2AAccess(
        issuers=lambda: current.listed_issuers,
        is_open=settings.open_a2a,
        public_url=settings.public_url.rstrip("/") if settings.public_url is not None else None,
        pushes=lambda: current.pushes,
        has_stage=not settings.is_local,
    )
    mcp = McpAccess(current.list_known_origins, is_local=settings.is_local)
    return CountedRequests(create_app(lambda: app, origins=current.list_known_origins, a2a=access, mcp=mcp))


def add_trace_flushing(app: ASGIApp) -> ASGIApp:
    """Return ``app`` so that it sends the spans of a turn after the answer; unchanged if nothing is traced."""
    tracer = composition.deployed_ports().tracer
    return app if tracer is NO_TRACER else FlushedTraces(app, tracer)
