"""GET /health."""

from __future__ import annotations

from fastapi import APIRouter

from baton import __version__
from baton.api.schemas import Health

router = APIRouter(tags=["health"])


@router.get("/health", summary="Whether the service answers", response_model=Health)
async def health() -> dict[str, str]:
    """Answer without a token and without other services."""
    return {"status": "ok", "version": __version__}
