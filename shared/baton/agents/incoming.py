"""The user's messages that enter a run in progress, as agents at work take them."""

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

        With ``only_earlier``, only messages that entered an earlier attempt do. Raises ``LeaseLost`` and
        ``StoreUnavailable``.
        """

    def enter_again(self, ids: Container[str]) -> Sequence[StoredMessage]:
        """Return those of the messages with these ids that entered an earlier attempt. They enter now."""

    def list_remaining(self) -> Sequence[StoredMessage]:
        """Return the messages that entered an earlier attempt, and not this one."""


class NoIncoming:
    """No messages, as in a dry run."""

    async def take(self, at: EntryPoint, admit: Admit, *, only_earlier: bool = False) -> Sequence[StoredMessage]:
        return ()

    def enter_again(self, ids: Container[str]) -> Sequence[StoredMessage]:
        return ()

    def list_remaining(self) -> Sequence[StoredMessage]:
        return ()
