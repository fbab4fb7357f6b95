"""Dependencies of routes: the use cases, the token's caller, ids in paths, and parameters of lists."""

from __future__ import annotations

import asyncio
import logging
import math
from datetime import datetime
from typing import Annotated, Any, cast
from urllib.parse import unquote

from fastapi import Depends, Path, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.convertors import StringConvertor, register_url_convertor

from baton.composition.app import App
from baton.concurrency.tasks import work_for
from baton.domain.errors import Unauthorized
from baton.domain.memory.procedure import RESERVED_SLUG
from baton.domain.tenants.identity import Scope
from baton.domain.wire_model import RUN_ID, THREAD_ID
from baton.ports.clock import read_machine_time


def query(description: str, /, *example: Any, **rules: Any) -> Any:
    """Return a query parameter with a description, an optional example, and further arguments of ``Query``."""
    return Query(description=description, examples=list(example) or None, **rules)


Limit = Annotated[int, query("Items per page.", ge=1, le=100)]
Cursor = Annotated[str | None, query("`nextCursor` of the previous page.", max_length=512)]


async def load_use_cases(request: Request) -> App:
    """Return the use cases, with settings that are loaded, so that reading them does not block the event loop.

    The first request that needs the use cases builds them.
    """
    app = cast("App", request.app.state.use_cases())
    await app.ports.settings.load()
    return app


UseCases = Annotated[App, Depends(load_use_cases)]

_log = logging.getLogger(__name__)

bearer = HTTPBearer(
    auto_error=False,
    bearerFormat="JWT",
    description="A token of an OIDC issuer the deployment trusts, or an embed token signed by the host application.",
)


# Not async, so that FastAPI calls it in a thread, because the verification may fetch keys.
def verify_caller(
    request: Request, app: UseCases, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Scope:
    """Verify the request's token, and return its scope. Raises ``Unauthorized`` and ``TokenExpired``.

    The call may block, because the verification may fetch keys. The tenant may have been removed.
    """
    scope: Scope | None = getattr(request.state, "scope", None)
    if scope is not None:  # the token was verified before the body was read
        return scope
    if credentials is None:
        if "authorization" in request.headers:
            _log.warning("Token refused: the Authorization header is not of the form: Bearer <token>.")
        raise Unauthorized
    identity = app.ports.verifier.verify(credentials.credentials)
    request.state.scope = identity.scope  # for the audit of refused requests
    request.state.token_expires_at = identity.expires_at
    return identity.scope


async def get_verified_caller(
    request: Request, app: UseCases, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Scope:
    """Return the scope of the request, even if its tenant was removed. Raises ``Unauthorized`` and ``TokenExpired``.

    A token that has not been verified yet is verified in a thread.
    """
    verified: Scope | None = getattr(request.state, "scope", None)
    scope = verified if verified is not None else await run_in_threadpool(verify_caller, request, app, credentials)
    work_for(scope.tenant_id)
    return scope


VerifiedCaller = Annotated[Scope, Depends(get_verified_caller)]


async def get_known_caller(scope: VerifiedCaller, app: UseCases) -> Scope:
    """Return the scope of the request. Raises ``TenantRemoved`` if its tenant was removed."""
    await app.ports.removed_tenants.check(scope)
    return scope


Caller = Annotated[Scope, Depends(get_known_caller)]


async def compute_token_seconds(request: Request, app: UseCases, _: Caller) -> float:
    """Return the seconds until the request's token expires. Streams end at that time."""
    expires_at: datetime = request.state.token_expires_at
    return (expires_at - read_machine_time(app.ports.clock)).total_seconds()


TokenSeconds = Annotated[float, Depends(compute_token_seconds)]


def find_token_end(request: Request, app: App) -> float:
    """Return the event loop time at which the request's token expires; infinity for a request without one."""
    expires_at: datetime | None = request.state.token_expires_at
    if expires_at is None:
        return math.inf
    return asyncio.get_running_loop().time() + (expires_at - read_machine_time(app.ports.clock)).total_seconds()


class ProcedureIds(StringConvertor):
    """The convertor of procedures' ids in paths: ``{procedure_id:procedure}``. It does not match reserved names."""

    regex = rf"(?!{RESERVED_SLUG}$)[^/]+"


register_url_convertor("procedure", ProcedureIds())


async def decode_thread_id(
    thread_id: Annotated[
        str, Path(description="The thread's UUID, or the host's own id, percent-encoded.", examples=[THREAD_ID])
    ],
) -> str:
    """Return the thread id in a path, decoded."""
    return unquote(thread_id)


async def decode_run_id(
    run_id: Annotated[str, Path(description="The run's id, percent-encoded.", examples=[RUN_ID])],
) -> str:
    """Return the run id in a path, decoded. Clients may choose run ids, so they may contain slashes."""
    return unquote(run_id)


async def decode_message_id(
    message_id: Annotated[
        str,
        Path(
            description="The message's id, percent-encoded.",
            max_length=768,
            examples=["5d0ad1c6-d1b0-5f6c-8d0c-0f4a2b1e3d4c"],
        ),
    ],
) -> str:
    """Return the message id in a path, decoded."""
    return unquote(message_id)


ThreadId = Annotated[str, Depends(decode_thread_id)]
MessageId = Annotated[str, Depends(decode_message_id)]
RunId = Annotated[str, Depends(decode_run_id)]
AgentId = Annotated[str, Path(description="The agent's id.", max_length=64, examples=["assistant"])]
