"""Requests to forget, and the pipeline that carries them out."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from baton.domain.forgetting import ForgetRequest
from baton.domain.identity import Scope


class ForgetRequests(Protocol):
    """The requests of tenants. They hold ids and counts only, and stay."""

    async def open(self, scope: Scope, request: ForgetRequest) -> ForgetRequest:
        """Store the request. While another one for the same subject is running, return that one instead."""
        ...

    async def get(self, scope: Scope, request_id: str) -> ForgetRequest | None:
        """Return a request of the tenant."""
        ...

    async def latest(self, scope: Scope, thread_id: str) -> ForgetRequest | None:
        """Return the latest request for the thread, if one was made in the last weeks."""
        ...

    async def latest_of_retention(self, scope: Scope) -> ForgetRequest | None:
        """Return the latest request that enforced the tenant's retention, if there was one in the last weeks."""
        ...

    async def save(self, scope: Scope, request: ForgetRequest) -> None:
        """Store the progress of a request, and its cut-off where queued turns look for it."""
        ...

    async def cutoff(self, scope: Scope, thread_id: str) -> datetime | None:
        """Return the latest cut-off of the scope's user or of the thread, if one of them was forgotten lately."""
        ...


class Forgettings(Protocol):
    """The pipeline that carries requests out."""

    async def start(self, request: ForgetRequest) -> None:
        """Start the pipeline; a repetition changes nothing. Raises ``StoreUnavailable``."""
        ...
