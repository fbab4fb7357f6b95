"""The HTTP API of a deployment: the application with the services of the composition root."""

from __future__ import annotations

from baton import composition
from baton.api.a2a.access import A2AAccess
from baton.api.application import create_app
from baton.api.counted import CountedRequests
from baton.api.mcp.access import McpAccess
from baton.api.services import ApiServices
from baton.composition.preloading import HTTP_MODULES, preload
from baton.settings.api import ApiSettings
from baton.settings.identity import IdentitySettings
from baton.settings.push import PushSettings


def deployed_app() -> CountedRequests:
    """Return the API for the functions ``http`` and ``streams``.

    Everything that requests need is built here, before the first one: Lambda gives functions more CPU at their start
    than later, and no user waits for it.
    """
    preload(*HTTP_MODULES)
    composition.prepare_store()
    services = ApiServices.of(composition.deployed())
    settings = ApiSettings()
    access = A2AAccess(
        issuers=tuple(issuer.issuer for issuer in IdentitySettings().token_issuers),
        is_open=settings.open_a2a,
        public_url=settings.public_url.rstrip("/") if settings.public_url is not None else None,
        pushes=PushSettings().is_on,
        has_stage=not settings.is_local,
    )
    mcp = McpAccess(settings.origins, is_local=settings.is_local)
    return CountedRequests(create_app(lambda: services, origins=settings.origins, a2a=access, mcp=mcp))


def prepare_streams() -> None:
    """Load what the first stream needs, in the function that serves streams."""
    preload("sse_starlette", "baton.api.a2a.dispatch", "baton.api.a2a.rest", "baton.api.mcp.exchange")
