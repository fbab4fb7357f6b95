"""The address of MCP, which is streamable HTTP at /mcp without sessions on the server, and its OAuth metadata."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPAuthorizationCredentials

from baton.api.a2a.access import A2AAccess, find_base_url
from baton.api.http.dependencies import UseCases, bearer, find_token_end, verify_caller
from baton.api.http.problems import json_content, responses
from baton.api.mcp.access import METADATA_PATH, PATH, make_challenge
from baton.api.runs import sse
from baton.concurrency.tasks import work_for
from baton.domain.tenants.identity import Scope
from baton.domain.wire_model import THREAD_ID

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "assistant", "arguments": {"message": "What can you do?"}},
}
RESULT = {
    "content": [{"type": "text", "text": '{"thread_id": "550e8400-...", "message": "I ..."}'}],
    "structuredContent": {"thread_id": THREAD_ID, "message": "I ...", "state": "completed"},
    "isError": False,
}
RESPONSE = {"jsonrpc": "2.0", "id": 1, "result": RESULT}
BODY: dict[str, Any] = {"requestBody": {"required": True, **json_content(CALL)}}
ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The JSON-RPC response, alone or as the last of a stream of server-sent events.",
        "content": {
            **json_content(RESPONSE)["content"],
            sse.MEDIA_TYPE: {"example": f"event: message\ndata: {json.dumps(RESPONSE)}\n\n"},
        },
    },
    202: {"description": "A notification was taken."},
}

router = APIRouter(tags=["mcp"])


# Not async, so that FastAPI calls it in a thread, like ``verify_caller``.
def verify_mcp_caller(
    request: Request, app: UseCases, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Scope:
    """Check the origin, verify the token, and return its scope.

    Raises ``OriginRefused``, ``Unauthorized`` and ``TokenExpired``.
    """
    state = request.app.state
    state.mcp.check(request.headers.get("origin"))
    request.state.challenge = make_challenge(find_base_url(request, state.a2a)[0], has_token=credentials is not None)
    return verify_caller(request, app, credentials)


@router.post(
    PATH,
    summary="Ask agents over MCP",
    responses={**ANSWERED, **responses("unauthorized token_expired origin_refused message_too_large")},
    openapi_extra=BODY,
)
async def call(request: Request, scope: Annotated[Scope, Depends(verify_mcp_caller)], app: UseCases) -> Response:
    """Answer one message of MCP: `tools/list` has the agents with `mcp: true`, `tools/call` asks one of them."""
    # Imported here, so that requests for metadata do not load the protocol's libraries.
    from baton.api.mcp.access import SESSION_ID, McpCaller
    from baton.api.mcp.server import McpExchange

    work_for(scope.tenant_id)
    await app.ports.removed_tenants.check(scope)
    session = request.headers.get("mcp-session-id", "")
    requester = McpCaller(
        scope=scope,
        app=app,
        timing=await sse.get_timing(request),
        ends_at=find_token_end(request, app),
        session_id=session if SESSION_ID.fullmatch(session) else None,
    )
    return McpExchange(requester, await request.body())


MAX_AGE = 600
"""Seconds for which clients may cache the metadata."""

METADATA = {
    "resource": "https://api.example.com/mcp",
    "authorization_servers": ["https://login.example.com/"],
    "bearer_methods_supported": ["header"],
    "resource_name": "Baton",
}
ANSWERS: dict[int | str, dict[str, Any]] = {200: {"description": "The metadata.", **json_content(METADATA)}}


@router.get(f"{METADATA_PATH}{PATH}", summary="Read who issues tokens for MCP", responses=ANSWERS)
def read_mcp_metadata(request: Request) -> Response:
    """Return the metadata of `/mcp` by RFC 9728: the issuers whose tokens are accepted."""
    return _make_metadata(request, PATH)


@router.get(METADATA_PATH, summary="Read who issues tokens", responses=ANSWERS)
def read_deployment_metadata(request: Request) -> Response:
    """Return the metadata of the whole deployment, for clients that do not request the metadata of `/mcp`."""
    return _make_metadata(request, "")


def _make_metadata(request: Request, path: str) -> Response:
    """Return the metadata of the resource at ``path``. This may block, because it may read the settings."""
    access: A2AAccess = request.app.state.a2a
    metadata: dict[str, Any] = {"resource": f"{find_base_url(request, access)[0]}{path}"}
    if issuers := access.issuers():  # an empty list must be left out (RFC 9728, 3.2)
        metadata["authorization_servers"] = list(issuers)
    metadata |= {"bearer_methods_supported": ["header"], "resource_name": "Baton"}
    return JSONResponse(metadata, headers={"Cache-Control": f"public, max-age={MAX_AGE}"})
