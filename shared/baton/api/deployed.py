"""The HTTP API of a deployment: the application over the use cases of the composition root."""

from __future__ import annotations

from operator import attrgetter

from starlette.types import ASGIApp

from baton import composition
from baton.api.a2a.access import A2AAccess
from baton.api.application import create_app
from baton.api.mcp.access import McpAccess
from baton.api.middleware import CountedRequests, FlushedTraces
from baton.composition.preloading import HTTP_MODULES, preload
from baton.ports.tracing import NO_TRACER
from baton.settings.identity import ApiSettings

EARLY = (
    *("turns", "branch_selection", "follower", "controls", "forks", "merges", "sandboxes", "approvals"),
    *("agent_editing", "task_notifications", "current_limits", "knowledge.search"),
    *("memory.inspector", "memory.episode_messages", "memory.episode_search"),
    *("privacy.readers", "privacy.forget_calls", "privacy.exports"),
    *("sessions.titles", "sessions.ratings", "sessions.importer", "sessions.overviews"),
    *("procedures.administration", "procedures.sources", "procedures.skills"),
    *(
        "ports.verifier",
        "ports.a2a_tasks",
        "ports.card_signer",
        "ports.push_configs",
        "ports.mcp_calls",
        "ports.prices",
    ),
)
"""Use cases and ports that both functions can build. The others need settings that ``streams`` does not have."""


def deployed_app() -> CountedRequests:
    """Return the API for the functions ``http`` and ``streams``.

    Everything that requests need is built here, before the first one: Lambda gives functions more CPU at their start
    than later, and no user waits for it.
    """
    preload(*HTTP_MODULES)
    composition.prepare_store()
    app = composition.deployed()
    for name in EARLY:
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
    mcp = McpAccess(current.known_origins, is_local=settings.is_local)
    return CountedRequests(create_app(lambda: app, origins=current.known_origins, a2a=access, mcp=mcp))


def traced_app(app: ASGIApp) -> ASGIApp:
    """Return the application of ``streams``, which sends the spans of a turn after its answer."""
    tracer = composition.deployed_ports().tracer
    return app if tracer is NO_TRACER else FlushedTraces(app, tracer)


def prepare_streams() -> None:
    """Load what the first stream needs, in the function that serves streams."""
    preload("sse_starlette", "baton.api.a2a.jsonrpc", "baton.api.a2a.rest", "baton.api.mcp.exchange")
