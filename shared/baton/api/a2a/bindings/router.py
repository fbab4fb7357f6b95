"""The addresses of A2A's JSON-RPC binding: /a2a and /a2a/{agent_id}."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPAuthorizationCredentials

from baton.api.a2a.access import A2AAccess, A2ACaller, find_base_url
from baton.api.http.dependencies import AgentId, UseCases, bearer, find_token_end, verify_caller
from baton.api.http.problems import RefusedBody, get_request_id, json_content, responses
from baton.api.runs import sse
from baton.composition.app import App
from baton.concurrency.tasks import work_for
from baton.domain.errors import NotFound, UnknownAgent
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.tracing import join
from baton.domain.wire_model import THREAD_ID

VERSION_HEADER = "A2A-Version"
OPEN_SCOPE = Scope("demo", "a2a")
"""The scope of callers without a token, where such calls are accepted."""

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "message/send",
    "params": {"message": {"messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": "Hello!"}]}},
}
TASK = {"kind": "task", "id": f"{THREAD_ID}.m-1", "contextId": THREAD_ID, "status": {"state": "submitted"}}
ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The JSON-RPC answer; methods that stream answer with server-sent events.",
        **json_content({"jsonrpc": "2.0", "id": 1, "result": TASK}),
    }
}
BODY: dict[str, Any] = {"requestBody": {"required": True, **json_content(CALL)}}

router = APIRouter(tags=["a2a"])


def get_token_or_open_scope(
    request: Request, app: UseCases, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Scope:
    """Return the scope of the token, or ``OPEN_SCOPE`` for an accepted call without a token.

    Raises ``Unauthorized`` and ``TokenExpired``.
    """
    if request.app.state.a2a.is_open and "authorization" not in request.headers:
        request.state.scope = OPEN_SCOPE
        request.state.token_expires_at = None
        return OPEN_SCOPE
    return verify_caller(request, app, credentials)


async def check_a2a_scope(scope: Annotated[Scope, Depends(get_token_or_open_scope)], app: UseCases) -> Scope:
    """Return the caller's scope, and set its tenant for the work of the request. Raises ``TenantRemoved``."""
    work_for(scope.tenant_id)
    await app.ports.removed_tenants.check(scope)
    return scope


A2AScope = Annotated[Scope, Depends(check_a2a_scope)]


@router.post(
    "/a2a",
    summary="Call the default agent over A2A",
    responses={**ANSWERED, **responses("unauthorized token_expired")},
    openapi_extra=BODY,
)
async def call_default(request: Request, scope: A2AScope, app: UseCases) -> Response:
    """Answer a JSON-RPC call of A2A 1.0 or 0.3. Errors of JSON-RPC have the HTTP status 200."""
    return await _answer(request, scope, app, None)


@router.post(
    "/a2a/{agent_id}",
    summary="Call an agent over A2A",
    responses={**ANSWERED, **responses("unauthorized token_expired not_found")},
    openapi_extra=BODY,
)
async def call_agent(request: Request, scope: A2AScope, app: UseCases, agent_id: AgentId) -> Response:
    """Answer a call to one agent."""
    return await _answer(request, scope, app, agent_id)


async def _answer(request: Request, scope: Scope, app: App, agent_id: str | None) -> Response:
    # Imported here, so that requests for cards and metadata do not load the protocol's libraries.
    from baton.api.a2a.bindings.jsonrpc import refuse, respond

    a2a_caller = await make_caller(request, scope, app, agent_id)
    try:
        body = await request.body()
    except RefusedBody as refusal:
        return JSONResponse(refuse(refusal.error))
    response = await respond(body, request.headers.get(VERSION_HEADER), a2a_caller)
    if isinstance(response, dict):
        return JSONResponse(response)
    return sse.respond(response, a2a_caller.timing)


async def make_caller(request: Request, scope: Scope, app: App, agent_id: str | None) -> A2ACaller:
    """Return the caller of the request. Raises ``NotFound`` for an agent that the caller may not use."""
    try:
        agents = await app.agents.in_force(scope)
        agent = await app.agents.get(scope, agent_id) if agent_id is not None else None
    except UnknownAgent:
        raise NotFound from None
    access: A2AAccess = request.app.state.a2a
    address, is_trusted = find_base_url(request, access)
    if scope.has(Permission.TRACE_CONTINUE):
        join(request.headers.get("traceparent"))
    return A2ACaller(
        scope=scope,
        app=app,
        timing=await sse.get_timing(request),
        agents=agents,
        agent=agent,
        request_id=get_request_id(request),
        ends_at=find_token_end(request, app),
        base_url=address,
        is_trusted=is_trusted,
        access=access,
        is_authenticated=not (access.is_open and "authorization" not in request.headers),
    )
