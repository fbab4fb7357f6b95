"""What sources are known to offer: asked once on a turn's path, and from then on beside the turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from baton.adapters.tool_source import SourceTool
from baton.domain.tool import ToolDefinition
from baton.ports.tools import MissingTools

RETRY_SECONDS = 30.0
"""From one attempt at a source to the next."""

Offer = Sequence[SourceTool] | MissingTools


class Freshness(Protocol):
    """What must be known of a source to know when to ask it again."""

    def must_ask(self, definition: ToolDefinition, /) -> bool:
        """Whether what it said is too old."""
        ...

    def may_recover(self, definition: ToolDefinition, /) -> bool:
        """Whether a failure may pass by itself."""
        ...


@dataclass(slots=True)
class _Known:
    definition: ToolDefinition
    """Kept, so that no other object can come to have its identity."""
    offer: Offer
    tried_at: float
    attempt: asyncio.Task[None] | None = None
    """The last one beside the turns."""


class Listings:
    """The tools of each definition, by identity: definitions are read once, and live as long as the process.

    Only who asks first waits. What failed is missing from then on, and what is too old serves on, while it is asked
    for again in a task of its own: what failed at most every ``RETRY_SECONDS``, and only while turns go on. A Lambda
    environment may be frozen in the middle of that; then the attempt fails as it wakes, and the next one comes with a
    later turn. What cannot pass by itself (a function that is not there) is not asked for again.
    """

    def __init__(
        self,
        ask: Callable[[ToolDefinition], Awaitable[Offer]],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``ask`` raises nothing: a failure is ``MissingTools``."""
        self._ask = ask
        self._monotonic = monotonic
        self._known: dict[int, _Known] = {}

    async def of(self, definition: ToolDefinition, freshness: Freshness) -> Offer:
        """What ``definition`` offers."""
        known = self._known.get(id(definition))
        if known is None:
            tried_at = self._monotonic()
            known = _Known(definition, await self._ask(definition), tried_at)
            self._known[id(definition)] = known
        elif self._is_due(known, freshness):
            known.tried_at = self._monotonic()
            known.attempt = asyncio.ensure_future(self._try_again(known))
        return known.offer

    async def settled(self) -> None:
        """Wait for the attempts under way."""
        attempts = [known.attempt for known in self._known.values() if known.attempt is not None]
        await asyncio.gather(*attempts)

    def _is_due(self, known: _Known, freshness: Freshness) -> bool:
        is_long_ago = self._monotonic() - known.tried_at >= RETRY_SECONDS
        if isinstance(known.offer, MissingTools):
            return is_long_ago and freshness.may_recover(known.definition)
        # An attempt whose event loop has ended is never done.
        is_idle = known.attempt is None or known.attempt.done() or is_long_ago
        return is_idle and freshness.must_ask(known.definition)

    async def _try_again(self, known: _Known) -> None:
        known.offer = await self._ask(known.definition)
