"""Sources of the token of requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from baton_client.calls import await_result

TokenSource = str | Callable[[], str | Awaitable[str]] | None
"""A token, or a function that returns one: it is called before the first request, and when the server refuses the token
that it returned last, because it has expired for example."""


class AsyncTokens:
    """The token in use, and how to get another one."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._token = source if isinstance(source, str) else None

    @property
    def can_renew(self) -> bool:
        """Whether there is a function to ask for another token."""
        return callable(self._source)

    async def get(self) -> str | None:
        """Return the token; ``None`` if the client has none."""
        if self._token is None and self.can_renew:
            await self.renew()
        return self._token

    async def renew(self) -> None:
        """Ask for another token. Raises whatever the function raises."""
        if callable(self._source):
            self._token = await await_result(self._source())
