"""The search of memory for a message, begun before the message's thread and agent are known."""

from __future__ import annotations

import asyncio
from typing import Any

from baton.domain.memory.found_item import FoundItem
from baton.domain.runs.early_steps import before_run
from baton.domain.tenants.identity import Scope
from baton.domain.tracing import current_span
from baton.memory.message_embedding import Find, MessageEmbedding
from baton.memory.retrieval_step import RetrievalStep, cancel_all

FRESH_SECONDS = 2.0
"""The age up to which a search is used. A message that waits for its thread for longer is searched again."""


class EarlyRecall:
    """The embedding of a message and its findings in the user's past and in an agent's documents, in progress.

    The agent is the one that a new thread would have; the findings in its documents count only if it answers. The
    caller that begins it stops it, also after a refusal of the message.
    """

    def __init__(
        self,
        scope: Scope,
        query: str,
        embedding: MessageEmbedding,
        *,
        agent_id: str,
        find_episodes: Find | None,
        find_knowledge: Find | None,
    ) -> None:
        """Begin to embed ``query``, and then to search. There is no search without its ``find``."""
        self._owner = scope.tenant_id, scope.user_id
        self._query = query
        self._began = asyncio.get_running_loop().time()
        self.embedding = embedding
        self._agent_id = agent_id
        with before_run() as self._steps:
            self.episodes = _begin(embedding, find_episodes)
            self._knowledge = _begin(embedding, find_knowledge)

    def fits(self, scope: Scope, query: str) -> bool:
        """Return whether it searches for this text in this user's past, and is recent."""
        is_same = (scope.tenant_id, scope.user_id) == self._owner and query == self._query
        return is_same and asyncio.get_running_loop().time() - self._began < FRESH_SECONDS

    def knowledge_of(self, agent_id: str) -> RetrievalStep[FoundItem] | None:
        """Return the search of the agent's documents; None if it has not begun."""
        return self._knowledge if agent_id == self._agent_id else None

    def join(self) -> None:
        """Show its spans in the run that uses it."""
        self._steps.join(current_span())

    @property
    def tasks(self) -> list[asyncio.Future[Any]]:
        """The work in progress, to cancel."""
        steps = [step.task for step in (self.episodes, self._knowledge) if step is not None]
        return [*steps, *self.embedding.tasks]

    async def stop(self) -> None:
        """Cancel it if it is still in progress."""
        await cancel_all(self.tasks)


def _begin(embedding: MessageEmbedding, find: Find | None) -> RetrievalStep[FoundItem] | None:
    return RetrievalStep(embedding.find(find)) if find is not None else None
