"""Records of the Context Inspector: what the models of a run were sent."""

from __future__ import annotations

from typing import Protocol

from baton.domain.identity import Scope


class ContextRecords(Protocol):
    """One record a run, kept as long as its thread.

    The callers have checked that the scope may read or write the thread. All methods raise ``StoreUnavailable``.
    """

    async def put(self, scope: Scope, thread_id: str, run_id: str, record: bytes) -> None:
        """Store a run's record, a JSON object in UTF-8, in place of an earlier one."""
        ...

    async def get(self, scope: Scope, thread_id: str, run_id: str) -> bytes | None:
        """Return a run's record; None if there is none."""
        ...
