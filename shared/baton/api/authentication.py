"""Authenticate requests by their bearer token."""

from __future__ import annotations

import asyncio
import logging
import math
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from baton.api.dependencies import UseCases
from baton.composition.app import App
from baton.domain.errors import Unauthorized
from baton.domain.identity import Scope

_log = logging.getLogger(__name__)

bearer = HTTPBearer(
    auto_error=False,
    bearerFormat="JWT",
    description="A token of an OIDC issuer the deployment trusts, or an embed token signed by the host application.",
)


# Not async, so that FastAPI runs it in a thread: verification may fetch keys.
def caller(
    request: Request, app: UseCases, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Scope:
    """Return the scope of the request. Raises ``Unauthorized`` and ``TokenExpired``."""
    if credentials is None:
        if "authorization" in request.headers:
            _log.warning("Token refused: the Authorization header is not of the form: Bearer <token>.")
        raise Unauthorized
    identity = app.ports.verifier.verify(credentials.credentials)
    request.state.scope = identity.scope  # for the audit of refused requests
    request.state.token_expires_at = identity.expires_at
    return identity.scope


Caller = Annotated[Scope, Depends(caller)]


async def token_seconds(request: Request, app: UseCases, _: Caller) -> float:
    """Return the seconds until the request's token expires. Streams end then."""
    expires_at: datetime = request.state.token_expires_at
    return (expires_at - app.ports.clock.now()).total_seconds()


TokenSeconds = Annotated[float, Depends(token_seconds)]


def token_ends_at(request: Request, app: App) -> float:
    """Return the event loop time at which the request's token expires; infinity for a request without one."""
    expires_at: datetime | None = request.state.token_expires_at
    if expires_at is None:
        return math.inf
    return asyncio.get_running_loop().time() + (expires_at - app.ports.clock.now()).total_seconds()
