"""The read phase: find episodes, knowledge and procedures for a message, in parallel and under one deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Generic, TypeVar

from aws_lambda_powertools import Logger

from baton.concurrency import off_loop
from baton.domain.agent import AgentDefinition
from baton.domain.errors import BatonError, WrongDimension
from baton.domain.found_item import FoundItem
from baton.domain.metrics import Metric, count
from baton.domain.procedure_set import ProcedureSet
from baton.domain.search import MAX_QUERY, Vector
from baton.domain.tracing import Attribute, Operation, Span, traced
from baton.knowledge.knowledge_search import KnowledgeSearch
from baton.memory.recall.procedure_matching import ProcedureVectors
from baton.memory.recall.retrievals import find_episodes
from baton.memory.recalled import (
    NOTHING_FOUND,
    Found,
    MemorySearch,
    ProcedureMatch,
    ProcedureRetrieval,
    ReadProcedures,
    Retrieval,
)
from baton.ports.search import Embedder, EmbeddingPurpose, SearchIndex

logger = Logger(child=True)

DEADLINE = timedelta(milliseconds=800)
EMBEDDING_SHARE = 0.6
"""The share of the deadline after which a slow embedding is given up, so that a search by words still has time."""
EMBEDDED_SHARE = 0.9
"""The share of the deadline after which procedures that are not embedded yet are left for later messages."""
EMBEDDER_SHARE = 0.95
"""The part of that time which the embedder has. An endpoint that does not answer fails there first, so that its
circuit breaker counts it."""
CANCELLING_SECONDS = 0.05
"""Seconds to wait for the end of cancelled retrievals."""

T = TypeVar("T")
_Find = Callable[[Vector | None], Coroutine[Any, Any, tuple[FoundItem, ...]]]


class Recall:
    """Retrieves from memory. A retrieval that fails or is late finds nothing and gives a reason; it raises nothing."""

    def __init__(
        self, index: SearchIndex, knowledge: KnowledgeSearch, embedder: Embedder, *, deadline: timedelta = DEADLINE
    ) -> None:
        self.index = index
        self.knowledge = knowledge
        self.embedder = embedder
        self.deadline = deadline
        self.procedure_vectors = ProcedureVectors(embedder)

    async def find(self, agent: AgentDefinition, search: MemorySearch, *, earlier: Found = NOTHING_FOUND) -> Found:
        """Return the findings within the deadline for a message to ``agent``.

        Reading the agent's procedures is waited for beyond the deadline, so that triggers match whatever else is late.
        ``earlier`` has the findings for the same message before, for another agent: its embedding and its episodes are
        used again. Raises only the errors of reading the procedures.
        """
        query, procedures = search.text.strip()[:MAX_QUERY], search.procedures
        if not query:
            return NOTHING_FOUND
        reading = asyncio.ensure_future(_read_procedures(procedures, search.text)) if procedures is not None else None
        work = _Work(self, agent, search, query, vector=earlier.vector if earlier.query == query else None)
        try:
            found = await work.find(earlier.episodes if earlier.query == query else Retrieval(), reading)
            if reading is None:
                return found
            triggered = (await reading).triggered
        finally:
            if reading is not None:
                await _cancel([reading])
        return replace(found, procedure=replace(found.procedure, matches=(*triggered, *found.procedure.matches)))


@dataclass(frozen=True, slots=True)
class _ReadProcedures:
    """The procedures that an agent may follow, and those of them that the message asks for by a trigger."""

    procedures: ProcedureSet
    triggered: tuple[ProcedureMatch, ...]


async def _read_procedures(read: ReadProcedures, text: str) -> _ReadProcedures:
    procedures = await read()
    found = await off_loop(len(text) * procedures.triggers, procedures.find_triggered, text)
    return _ReadProcedures(procedures, tuple(ProcedureMatch(each.procedure, each.trigger) for each in found))


class _Step(Generic[T]):
    """One retrieval in progress."""

    def __init__(self, work: Coroutine[Any, Any, tuple[T, ...]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._ended: float | None = None
        self.task = asyncio.ensure_future(work)
        self.task.add_done_callback(self._end)

    @property
    def duration(self) -> timedelta:
        """The time that it took, or has taken so far."""
        ended = self._ended if self._ended is not None else self._loop.time()
        return timedelta(seconds=max(0.0, ended - self._began))

    def outcome(self, deadline: timedelta) -> tuple[tuple[T, ...], str | None]:
        """Return its findings, and the reason if it failed or was late."""
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


@dataclass(slots=True)
class _Work:
    """The retrievals for one message."""

    recall: Recall
    agent: AgentDefinition
    search: MemorySearch
    query: str
    vector: Vector | None
    """The message's embedding, once it is known."""
    began: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    embedding: asyncio.Future[Vector | None] | None = None
    """The embedding in progress, which the first retrieval that needs it begins."""
    words_only: str | None = None
    """The reason why the message was searched by its words only; None if it was not."""
    is_meaning_missed: bool = False
    """True if procedures should have been compared by meaning, and could not."""

    async def find(self, earlier: Retrieval, procedures: asyncio.Future[_ReadProcedures] | None) -> Found:
        """Run the retrievals, and return their findings before the deadline; ``earlier`` is of episodes."""
        memory, search = self.agent.memory, self.search
        wants_episodes = search.with_episodes and memory.episodic_top_k > 0 and memory.retrieved_tokens > 0
        knowledge = episodes = procedure = None
        if search.with_knowledge and memory.semantic_top_k and memory.retrieved_tokens:
            knowledge = _Step(self._find(self._find_knowledge))
        if wants_episodes and not earlier.is_asked:
            episodes = _Step(self._find(self._find_episodes))
        if procedures is not None:
            procedure = _Step(self._nearest_procedures(procedures))
        tasks: list[asyncio.Future[Any]] = [step.task for step in (knowledge, episodes, procedure) if step is not None]
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=self.recall.deadline.total_seconds())
        finally:
            await _cancel([*tasks, *([self.embedding] if self.embedding is not None else ())])
        return Found(
            query=self.query,
            vector=self.vector,
            procedure=self._procedure_retrieval(procedure) if procedure is not None else ProcedureRetrieval(),
            knowledge=self._retrieval(knowledge) if knowledge is not None else Retrieval(),
            episodes=self._retrieval(episodes)
            if episodes is not None
            else (earlier if wants_episodes else Retrieval()),
        )

    async def _embed_query(self) -> Vector | None:
        """Return the embedding that serves all retrievals; None if there is none in time."""
        if self.vector is not None or not self.recall.embedder.dimensions:
            return self.vector
        if self.embedding is None:
            self.embedding = asyncio.ensure_future(self._embed())
        return await asyncio.shield(self.embedding)

    async def _embed(self) -> Vector | None:
        seconds = EMBEDDING_SHARE * self.recall.deadline.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                [self.vector] = await self.recall.embedder.embed(
                    [self.query], purpose=EmbeddingPurpose.QUERY, seconds=EMBEDDER_SHARE * seconds
                )
            return self.vector
        except TimeoutError:
            self.words_only = f"the embedding took more than {seconds * 1000:g} ms: searched by words only"
        except BatonError as error:
            self.words_only = f"{error.code}: searched by words only"
        except Exception:
            logger.exception("embedding failed")
            count(Metric.INTERNAL_FAULTS)
            self.words_only = "internal_error: searched by words only"
        count(Metric.RECALLS_INCOMPLETE)
        return None

    async def _find(self, find: _Find) -> tuple[FoundItem, ...]:
        """Search by words and meaning, or by words only if the index was made for another embedding model."""
        vector = await self._embed_query()
        try:
            return await find(vector)
        except WrongDimension as error:
            if vector is None:
                raise
            count(Metric.RECALLS_INCOMPLETE)
            self.words_only = f"{error.code}: searched by words only"
            return await find(None)

    async def _find_knowledge(self, vector: Vector | None) -> tuple[FoundItem, ...]:
        with _trace_retrieval("knowledge") as span:
            found = await self.recall.knowledge.find(self.search.scope, self.agent.id, self.query, vector)
            span.set({Attribute.FOUND: len(found)})
        return found

    async def _find_episodes(self, vector: Vector | None) -> tuple[FoundItem, ...]:
        index, scope, embedder = self.recall.index, self.search.scope, self.recall.embedder.name
        with _trace_retrieval("episodes") as span:
            found = await find_episodes(index, scope, self.query, vector, embedder)
            span.set({Attribute.FOUND: len(found)})
        return found

    async def _nearest_procedures(self, reading: asyncio.Future[_ReadProcedures]) -> tuple[ProcedureMatch, ...]:
        """Return the procedures nearest by meaning; none if a trigger matches, because that decides."""
        read = await asyncio.shield(reading)
        if not read.procedures.procedures or read.triggered:
            return ()
        vector = await self._embed_query()
        if vector is None:
            self.is_meaning_missed = True
            return ()
        left = self.began + EMBEDDED_SHARE * self.recall.deadline.total_seconds() - asyncio.get_running_loop().time()
        with _trace_retrieval("procedures") as span:
            found = await self.recall.procedure_vectors.nearest(read.procedures, vector, seconds=max(0.0, left))
            span.set({Attribute.FOUND: len(found)})
        return found

    def _retrieval(self, step: _Step[FoundItem]) -> Retrieval:
        items, error = step.outcome(self.recall.deadline)
        return Retrieval(items, step.duration, error or self.words_only, is_asked=True)

    def _procedure_retrieval(self, step: _Step[ProcedureMatch]) -> ProcedureRetrieval:
        matches, error = step.outcome(self.recall.deadline)
        return ProcedureRetrieval(
            matches, step.duration, error or (self.words_only if self.is_meaning_missed else None)
        )


def _trace_retrieval(source: str) -> AbstractContextManager[Span]:
    return traced(Operation.RETRIEVAL, source, {Attribute.DATA_SOURCE: source}, is_remote=True)


async def _cancel(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancel the tasks that still run. One that does not end at once is left to itself."""
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
