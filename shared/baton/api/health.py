"""GET /health."""

from __future__ import annotations

from fastapi import APIRouter

from baton import __version__
from baton.api.schemas import Health

router = APIRouter(tags=["health"])


@router.get("/health", summary="Whether the service answers")
async def health() -> Health:
    """Answer without a token and without other services."""
    return Health(status="ok", version=__version__)
