"""Retrievals for a message: its embedding and each search, even when they begin before its thread is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Any, Generic, TypeVar

from aws_lambda_powertools import Logger

from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.search import Vector
from baton.domain.errors import BatonError, WrongDimension
from baton.domain.memory.found_item import FoundItem
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.tracing import get_current_span
from baton.memory.early_steps import before_run
from baton.ports.documents.search import Embedder, EmbeddingPurpose

logger = Logger(child=True)

CANCELLING_SECONDS = 0.05
"""Seconds to wait for the end of cancelled retrievals."""

T = TypeVar("T")


class RetrievalStep(Generic[T]):
    """One retrieval in progress."""

    def __init__(self, work: Coroutine[Any, Any, tuple[T, ...]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._ended: float | None = None
        self.task = asyncio.ensure_future(work)
        self.task.add_done_callback(self._end)

    @property
    def duration(self) -> timedelta:
        """The time that the retrieval took, or has taken so far."""
        end = self._ended if self._ended is not None else self._loop.time()
        return timedelta(seconds=max(0.0, end - self._began))

    def get_outcome(self, deadline: timedelta) -> tuple[tuple[T, ...], str | None]:
        """Return the findings, and None or the reason if the retrieval failed or was late, which is counted."""
        if not self.task.done() or self.task.cancelled():
            count(Metric.RECALLS_INCOMPLETE)
            return (), f"took more than the deadline of {deadline / timedelta(milliseconds=1):g} ms"
        failure = self.task.exception()
        if failure is None:
            return self.task.result(), None
        count(Metric.RECALLS_INCOMPLETE)
        if isinstance(failure, BatonError):
            return (), f"{failure.code}: {failure.detail}"
        logger.error("retrieval failed", exc_info=failure)
        count(Metric.INTERNAL_FAULTS)
        return (), "internal_error: it failed unexpectedly"

    def _end(self, _: asyncio.Future[tuple[T, ...]]) -> None:
        self._ended = self._loop.time()


async def cancel_all(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancel the tasks that still run, and wait at most ``CANCELLING_SECONDS`` for their end."""
    for task in tasks:
        task.add_done_callback(_take_exception)
        task.cancel()
    unfinished = [task for task in tasks if not task.done()]
    if unfinished:
        await asyncio.wait(unfinished, timeout=CANCELLING_SECONDS)


def _take_exception(task: asyncio.Future[Any]) -> None:
    """Mark a task's exception as seen; otherwise asyncio logs it."""
    if not task.cancelled():
        task.exception()


EMBEDDER_SHARE = 0.95
"""The share of the time for an embedding that the embedder gets. An endpoint that does not answer then fails in the
embedder first, whose circuit breaker counts the failure."""

Find = Callable[[Vector | None], Coroutine[Any, Any, T]]


class MessageEmbedding:
    """The vector of a message, made once, when the first retrieval needs it."""

    def __init__(
        self, embedder: Embedder, query: str, *, tenant_id: str, seconds: float, vector: Vector | None = None
    ) -> None:
        """``tenant_id`` is the message's tenant. ``vector`` is the embedding if it is known already.

        The embedding is given up after ``seconds``.
        """
        self._embedder = embedder
        self._query = query
        self._tenant_id = tenant_id
        self._seconds = seconds
        self._task: asyncio.Future[Vector | None] | None = None
        self.vector = vector
        """The embedding, once it is known."""
        self.words_only: str | None = None
        """The reason why the message was searched by its words only; None if it was not."""

    @property
    def tasks(self) -> list[asyncio.Future[Any]]:
        """The work in progress, to cancel."""
        return [self._task] if self._task is not None else []

    async def get(self) -> Vector | None:
        """Return the embedding; None if it failed, was late, or embedding is switched off."""
        if self.vector is not None or not self._embedder.dimensions:
            return self.vector
        if self._task is None:
            self._task = asyncio.ensure_future(self._embed())
        return await asyncio.shield(self._task)

    async def find(self, find: Find[T]) -> T:
        """Search by words and meaning, or by words only.

        Words decide alone if there is no embedding, or if the index was made for another embedding model.
        """
        vector = await self.get()
        try:
            return await find(vector)
        except WrongDimension as error:
            if vector is None:
                raise
            count(Metric.RECALLS_INCOMPLETE)
            self.words_only = f"{error.code}: searched by words only"
            return await find(None)

    async def _embed(self) -> Vector | None:
        try:
            async with asyncio.timeout(self._seconds):
                [self.vector] = await self._embedder.embed(
                    [self._query],
                    purpose=EmbeddingPurpose.QUERY,
                    seconds=EMBEDDER_SHARE * self._seconds,
                    tenant_id=self._tenant_id,
                )
            return self.vector
        except TimeoutError:
            self.words_only = f"the embedding took more than {self._seconds * 1000:g} ms: searched by words only"
        except BatonError as error:
            self.words_only = f"{error.code}: searched by words only"
        except Exception:
            logger.exception("embedding failed")
            count(Metric.INTERNAL_FAULTS)
            self.words_only = "internal_error: searched by words only"
        count(Metric.RECALLS_INCOMPLETE)
        return None


FindItems = Find[tuple[FoundItem, ...]]

FRESH_SECONDS = 2.0
"""The age up to which a search is used. For a message that waits for its thread for longer, the search is repeated."""


class EarlyRecall:
    """The embedding of a message, and the searches in the user's past and in an agent's documents, in progress.

    The agent is the main agent of a new thread. The findings in its documents count only if it answers. The caller
    that begins the recall must stop it, also after a refusal of the message.
    """

    def __init__(
        self,
        scope: Scope,
        query: str,
        embedding: MessageEmbedding,
        *,
        agent: AgentDefinition,
        find_episodes: FindItems | None,
        find_knowledge: FindItems | None,
    ) -> None:
        """Begin to embed ``query``, and then to search. A search whose function is None is not begun."""
        self._owner = scope.tenant_id, scope.user_id
        self._query = query
        self._began = asyncio.get_running_loop().time()
        self.embedding = embedding
        self._searched = agent.id, agent.libraries
        with before_run() as self._steps:
            self.episodes = _begin(embedding, find_episodes)
            self._knowledge = _begin(embedding, find_knowledge)

    def fits(self, scope: Scope, query: str) -> bool:
        """Return whether the recall is for this text and this user, and recent."""
        is_same = (scope.tenant_id, scope.user_id) == self._owner and query == self._query
        return is_same and asyncio.get_running_loop().time() - self._began < FRESH_SECONDS

    def find_knowledge_step(self, agent: AgentDefinition) -> RetrievalStep[FoundItem] | None:
        """Return the search of the agent's documents; None if it has not begun.

        The session may use a version of the agent with other libraries.
        """
        return self._knowledge if (agent.id, agent.libraries) == self._searched else None

    def join(self) -> None:
        """Add the spans of the early steps to the trace of the current run."""
        self._steps.join(get_current_span())

    async def stop(self) -> None:
        """Cancel the embedding and the searches if they are still in progress."""
        steps = [step.task for step in (self.episodes, self._knowledge) if step is not None]
        await cancel_all([*steps, *self.embedding.tasks])


def _begin(embedding: MessageEmbedding, find: FindItems | None) -> RetrievalStep[FoundItem] | None:
    return RetrievalStep(embedding.find(find)) if find is not None else None
