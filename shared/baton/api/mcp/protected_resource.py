"""The metadata of the protected resource (RFC 9728): where a client gets a token."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from baton.api.a2a.access import A2AAccess, base_url
from baton.api.mcp.access import METADATA_PATH, PATH

MAX_AGE = 600
"""Seconds for which clients may keep the metadata."""

router = APIRouter(tags=["mcp"])
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The metadata.",
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "example": {
                    "resource": "https://api.example.com/mcp",
                    "authorization_servers": ["https://login.example.com/"],
                    "bearer_methods_supported": ["header"],
                    "resource_name": "Baton",
                },
            }
        },
    }
}


@router.get(f"{METADATA_PATH}{PATH}", summary="Read who issues tokens for MCP", responses=ANSWERS)
async def of_mcp(request: Request) -> Response:
    """Return the metadata of `/mcp` by RFC 9728: the issuers whose tokens are accepted."""
    return _metadata(request, PATH)


@router.get(METADATA_PATH, summary="Read who issues tokens", responses=ANSWERS)
async def of_deployment(request: Request) -> Response:
    """Return the metadata of the whole deployment, for clients that do not ask for that of `/mcp`."""
    return _metadata(request, "")


def _metadata(request: Request, path: str) -> Response:
    access: A2AAccess = request.app.state.a2a
    told: dict[str, Any] = {"resource": f"{base_url(request, access)}{path}"}
    if access.issuers:  # an empty list must be left out (RFC 9728, 3.2)
        told["authorization_servers"] = list(access.issuers)
    told |= {"bearer_methods_supported": ["header"], "resource_name": "Baton"}
    return JSONResponse(told, headers={"Cache-Control": f"public, max-age={MAX_AGE}"})
