"""Who the caller's token names."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field

from baton.api.authentication import Caller
from baton.domain.served import TIMESTAMP, Served, Timestamp

router = APIRouter(prefix="/users/me", tags=["users"])


class Identity(Served):
    """The caller, as the server reads the token."""

    tenant_id: str = Field(examples=["acme"])
    user_id: str = Field(examples=["alice"])
    permissions: list[str] = Field(description="In alphabetical order.", examples=[["context:inspect"]])
    expires_at: Annotated[Timestamp, Field(description="When the token expires.", examples=[TIMESTAMP])]


@router.get("", summary="Read who the caller is")
async def get_identity(request: Request, caller: Caller) -> Identity:
    """Return what the token says, because front ends cannot read the tokens of every issuer."""
    expires_at: datetime = request.state.token_expires_at
    return Identity(
        tenant_id=caller.tenant_id,
        user_id=caller.user_id,
        permissions=sorted(caller.permissions),
        expires_at=expires_at,
    )
