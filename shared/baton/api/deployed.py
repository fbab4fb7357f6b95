"""The HTTP API of a deployment: the application over what the composition root built."""

from __future__ import annotations

from fastapi import FastAPI

from baton import composition
from baton.api.application import create_app
from baton.api.services import ApiServices
from baton.composition.environment import cache
from baton.settings import ApiSettings


def deployed_app() -> FastAPI:
    """The API as the functions ``http`` and ``streams`` serve it."""
    return create_app(_services, origins=ApiSettings().origins)


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
