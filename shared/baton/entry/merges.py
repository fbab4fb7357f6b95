"""Merge a fork's answer into its parent."""

from __future__ import annotations

from baton.domain.identity import Scope
from baton.domain.message import StoredMessage
from baton.handoffs.forks import Forks
from baton.requests.parsing import merge_request
from baton.turns.turns import Turns


class Merges:
    """Merges answers of forks into their parents."""

    def __init__(self, turns: Turns, forks: Forks) -> None:
        self._turns = turns
        self._forks = forks

    async def merge(self, scope: Scope, fork_thread_id: str, *, seconds: float) -> StoredMessage:
        """Add the last answer of a fork to its parent as one message, and return that message.

        Its ``source`` is ``specialist``. Merging the same answer again changes nothing. The merge is a run of its own
        and waits for the lease for at most ``seconds``. Raises ``ThreadUnavailable`` and ``ThreadBusy``.
        """
        fork, answer = await self._forks.newest_answer(scope, fork_thread_id)
        request = merge_request(fork.parent_thread_id or "", fork.id, answer.id)
        finished = await self._turns.run(scope, request, lambda event: None, seconds=seconds)
        return finished.messages[0]
