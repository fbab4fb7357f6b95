"""The search of a user's past for a message, begun before the message's thread and agent are known."""

from __future__ import annotations

import asyncio
from typing import Any

from baton.domain.early_steps import before_run
from baton.domain.found_item import FoundItem
from baton.domain.identity import Scope
from baton.domain.tracing import current_span
from baton.memory.message_embedding import Find, MessageEmbedding
from baton.memory.retrieval_step import RetrievalStep, cancel_all

FRESH_SECONDS = 2.0
"""The age up to which a search is used. A message that waits for its thread for longer is searched again."""


class EarlyRecall:
    """The embedding of a message and its findings in the user's past, both in progress.

    They depend on the user and the text only. The caller that begins it stops it, also after a refusal of the message.
    """

    def __init__(self, scope: Scope, query: str, embedding: MessageEmbedding, find: Find) -> None:
        """Begin to embed ``query``, and then to search by ``find``."""
        self._owner = scope.tenant_id, scope.user_id
        self._query = query
        self._began = asyncio.get_running_loop().time()
        self.embedding = embedding
        with before_run() as self._steps:
            self.episodes: RetrievalStep[FoundItem] = RetrievalStep(embedding.find(find))

    def fits(self, scope: Scope, query: str) -> bool:
        """Return whether it searches for this text in this user's past, and is recent."""
        is_same = (scope.tenant_id, scope.user_id) == self._owner and query == self._query
        return is_same and asyncio.get_running_loop().time() - self._began < FRESH_SECONDS

    def join(self) -> None:
        """Show its spans in the run that uses it."""
        self._steps.join(current_span())

    @property
    def tasks(self) -> list[asyncio.Future[Any]]:
        """The work in progress, to cancel."""
        return [self.episodes.task, *self.embedding.tasks]

    async def stop(self) -> None:
        """Cancel it if it is still in progress."""
        await cancel_all(self.tasks)
