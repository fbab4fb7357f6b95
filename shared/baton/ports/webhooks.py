"""Requests to the addresses that clients want to be notified at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class WebhookRefused(Exception):
    """The deployment does not allow the address. Another attempt is refused too."""


class WebhookUnreachable(Exception):
    """There was no answer in time. A later attempt may get one."""


class Webhooks(Protocol):
    """What posts notifications."""

    @property
    def is_on(self) -> bool:
        """Whether this deployment sends notifications at all."""
        ...

    def refusal(self, url: str) -> str | None:
        """Return why this deployment never posts to ``url``; None if it may, unless its address is a private one."""
        ...

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Post ``body`` and return the status of the answer, whose body is not read. No redirect is followed.

        Raises ``WebhookRefused`` and ``WebhookUnreachable``.
        """
        ...
