"""The HTTP API of a deployment: the application over what the composition root built."""

from __future__ import annotations

from baton import composition
from baton.api.application import create_app
from baton.api.counted import CountedRequests
from baton.api.services import ApiServices
from baton.composition.preloading import HTTP_MODULES, preload
from baton.settings import ApiSettings


def deployed_app() -> CountedRequests:
    """The API as the functions ``http`` and ``streams`` serve it.

    What requests need is built here, before the first one comes: Lambda starts functions with more CPU than it runs
    them with, and nobody waits for it.
    """
    preload(*HTTP_MODULES)
    services = ApiServices.of(composition.deployed())
    return CountedRequests(create_app(lambda: services, origins=ApiSettings().origins))
