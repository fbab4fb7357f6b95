"""The HTTP API of a deployment: the application over what the composition root built."""

from __future__ import annotations

from baton import composition
from baton.api.application import create_app
from baton.api.counted import CountedRequests
from baton.api.services import ApiServices
from baton.composition.environment import cache
from baton.composition.preloading import HTTP_MODULES, preload
from baton.settings import ApiSettings


def deployed_app() -> CountedRequests:
    """The API as the functions ``http`` and ``streams`` serve it.

    What requests need is built here, before the first one comes: Lambda starts functions with more CPU than it runs
    them with, and nobody waits for it.
    """
    preload(*HTTP_MODULES)
    services = _services()
    return CountedRequests(create_app(lambda: services, origins=ApiSettings().origins))


def prepare_streams() -> None:
    """Load what the first stream needs, in the function that serves streams."""
    preload("sse_starlette")


@cache
def _services() -> ApiServices:
    return ApiServices(
        verifier=composition.authorizer(),
        turns=composition.turns(),
        store=composition.store(),
        records=composition.run_records(),
        handoffs=composition.handoffs(),
        workflows=composition.workflows(),
        replays=composition.replays(),
        follower=composition.follower(),
        controls=composition.controls(),
        forks=composition.forks(),
        approvals=composition.approvals(),
        agents=composition.run_services().agents,
        files=composition.files(),
        audit=composition.audit(),
        clock=composition.clock,
    )
