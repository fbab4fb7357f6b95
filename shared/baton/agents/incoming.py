"""The user's messages that enter a run in progress, and how agents take them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Sequence
from typing import Protocol

from baton.domain.threads.message import StoredMessage
from baton.ports.threads.messages import EntryPoint

Admit = Callable[[StoredMessage], Awaitable[StoredMessage | None]]
"""Returns a message with the text that guardrails allow; None if it may not enter the run."""


class Incoming(Protocol):
    """The user's messages that enter a run, each exactly once."""

    async def take(self, at: EntryPoint, admit: Admit, *, only_earlier: bool = False) -> Sequence[StoredMessage]:
        """Return the messages that enter the run at this point, in the order in which they were sent.

        With ``only_earlier``, return only messages that entered an earlier attempt at this point. Raises ``LeaseLost``
        and ``StoreUnavailable``.
        """

    def enter_again(self, ids: Container[str]) -> Sequence[StoredMessage]:
        """Let the messages with these ids enter the run if they entered an earlier attempt, and return them."""

    def list_remaining(self) -> Sequence[StoredMessage]:
        """Return the messages that entered an earlier attempt but have not entered this attempt."""


class NoIncoming:
    """``Incoming`` without messages, for dry runs and tests."""

    async def take(self, at: EntryPoint, admit: Admit, *, only_earlier: bool = False) -> Sequence[StoredMessage]:
        return ()

    def enter_again(self, ids: Container[str]) -> Sequence[StoredMessage]:
        return ()

    def list_remaining(self) -> Sequence[StoredMessage]:
        return ()
