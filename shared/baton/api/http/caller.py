"""The route of the caller's identity."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field

from baton.api.http.dependencies import Caller
from baton.api.http.schemas import describe
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel

router = APIRouter(prefix="/v1")


class ServedIdentity(WireModel):
    """The caller's identity in the token."""

    tenant_id: str = Field(examples=["acme"])
    user_id: str = Field(examples=["alice"])
    name: str | None = describe("The user's name in the token; null without one.", "Alice")
    permissions: list[str] = describe("In alphabetical order.", ["context:inspect"])
    expires_at: Annotated[Timestamp, describe("The expiry of the token.", TIMESTAMP)]


@router.get("/users/me", tags=["users"], summary="Read who the caller is")
async def get_identity(request: Request, caller: Caller) -> ServedIdentity:
    """Return the identity and permissions in the token, for front ends that cannot read the issuer's tokens."""
    expires_at: datetime = request.state.token_expires_at
    return ServedIdentity(
        tenant_id=caller.tenant_id,
        user_id=caller.user_id,
        name=caller.name,
        permissions=sorted(caller.permissions),
        expires_at=expires_at,
    )
