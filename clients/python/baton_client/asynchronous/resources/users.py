"""Users: the caller's identity, and the data that is stored about a user."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from baton_client.addresses import path
from baton_client.asynchronous.resource import AsyncResource
from baton_client.asynchronous.waiting import wait_until
from baton_client.models import ForgetRequest, Identity


class AsyncUsers(AsyncResource):
    """``client.users``."""

    async def me(self) -> Identity:
        """Return the tenant, the user and the permissions of the token."""
        return await self._get("/v1/users/me", Identity)

    async def forget(self, user_id: str) -> ForgetRequest:
        """Forget everything about a user. ``wait_until_forgotten`` returns the report."""
        return await self._delete(path("/v1/users/{user_id}/memory", user_id=user_id), ForgetRequest)

    async def forget_request(self, request_id: str) -> ForgetRequest:
        """Return the progress of a request to forget, and what is left."""
        return await self._get(path("/v1/forget-requests/{request_id}", request_id=request_id), ForgetRequest)

    async def wait_until_forgotten(self, request_id: str, *, timeout: float = 900.0) -> ForgetRequest:
        """Wait for the end of a request to forget a user or a conversation, and return its report.

        Raises ``APITimeoutError`` after ``timeout`` seconds, while the server continues.
        """

        async def read() -> ForgetRequest:
            return await self.forget_request(request_id)

        forget_request: ForgetRequest = await wait_until(
            read, lambda request: request.ended_at is not None, timeout, f"request {request_id}"
        )
        return forget_request

    def export(self, user_id: str, *, only_sessions: bool = False) -> AsyncIterator[dict[str, Any]]:
        """Yield everything that is stored about a user, record by record. The id ``me`` is the caller.

        ``only_sessions`` yields only what ``client.episodes.import_session`` takes. Raises ``UnexpectedAnswerError`` if
        the answer is incomplete.
        """
        address = path("/v1/users/{user_id}/export", user_id=user_id)
        if only_sessions:
            return self.lines(address, has_end=False, content="sessions")
        return self.lines(address)
