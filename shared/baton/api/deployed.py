"""The HTTP API of a deployment: the application with the services of the composition root."""

from __future__ import annotations

from baton import composition
from baton.api.application import create_app
from baton.api.counted import CountedRequests
from baton.api.services import ApiServices
from baton.composition.preloading import HTTP_MODULES, preload
from baton.settings import ApiSettings


def deployed_app() -> CountedRequests:
    """Return the API for the functions ``http`` and ``streams``.

    Everything that requests need is built here, before the first one: Lambda gives functions more CPU at their start
    than later, and no user waits for it.
    """
    preload(*HTTP_MODULES)
    composition.prepare_store()
    services = ApiServices.of(composition.deployed())
    return CountedRequests(create_app(lambda: services, origins=ApiSettings().origins))


def prepare_streams() -> None:
    """Load what the first stream needs, in the function that serves streams."""
    preload("sse_starlette", "baton.api.a2a.dispatch")
