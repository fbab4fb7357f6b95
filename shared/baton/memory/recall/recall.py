"""The read phase: find episodes, knowledge and procedures for a message, in parallel and under one deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from baton.concurrency.tasks import off_loop
from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.search import MAX_QUERY, IndexDocument, Ranked, Signal, Vector
from baton.domain.memory.found_item import FoundItem, ItemSource
from baton.domain.memory.procedure_set import ProcedureSet
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import EVENT, Role
from baton.domain.tracing import Attribute, Operation, Span, traced
from baton.knowledge.knowledge_search import FoundChunks, KnowledgeSearch
from baton.memory.early_recall import EarlyRecall, MessageEmbedding, RetrievalStep, cancel_all
from baton.memory.episodes.episode_index import DIGEST, FACT, MESSAGE, PAIR, SUMMARY, TURN
from baton.memory.episodes.episode_search import EpisodeWeights, find_author, rank_episodes
from baton.memory.recall.procedure_matching import ProcedureVectors
from baton.memory.recall.relevance import MAX_QUERY_WORDS, find_content_words, find_irrelevance
from baton.memory.recalled import NOTHING_FOUND, Findings, MemorySearch, ProcedureMatch, ReadProcedures, Retrieval
from baton.ports.documents.search import Embedder, SearchIndex

MAX_FOUND = 40
"""Messages, and as many facts and summaries, from which a prompt's items are chosen. The inspector shows them all."""
FOR_PROMPTS = EpisodeWeights(messages_shown=MAX_FOUND, sessions_shown=0, digests_shown=MAX_FOUND)
"""The weights of a search for a prompt, which fetches only documents that the prompt may use."""

MAX_SHORT_CHARS = 25
MAX_SHORT_WORDS = 4
"""A message with at most this many characters and words may get its meaning from the previous message."""


async def find_episodes(
    search: SearchIndex, scope: Scope, query: str, vector: Vector | None, embedder: str
) -> tuple[FoundItem, ...]:
    """Return the findings in the user's past conversations. Raises ``SearchUnavailable`` and ``WrongDimension``.

    ``embedder`` is the model that made ``vector``. Vectors of other models are not comparable.
    """
    ranking = await rank_episodes(search, scope, query, vector, weights=FOR_PROMPTS)
    ranked_texts = [*ranking.messages[:MAX_FOUND], *ranking.digests[:MAX_FOUND]]
    return tuple(_make_episode_item(ranked, embedder) for ranked in ranked_texts)


async def try_knowledge(
    search: KnowledgeSearch, scope: Scope, agent: AgentDefinition, query: str, *, limit: int
) -> FoundChunks:
    """Return at most ``limit`` of the chunks that a turn would find in the agent's documents and libraries, best first.

    Chunks that a turn would leave out as irrelevant have a ``reason``. Raises ``SearchUnavailable`` and
    ``StoreUnavailable``.
    """
    chunks = await search.search(scope, agent.id, query, libraries=agent.libraries, limit=limit)
    words = frozenset(find_content_words(query)[:MAX_QUERY_WORDS])
    floor = agent.memory.relevance_floor
    return replace(
        chunks, chunks=[replace(chunk, reason=find_irrelevance(chunk, words, floor)) for chunk in chunks.chunks]
    )


def _make_episode_item(ranked: Ranked, embedder: str) -> FoundItem:
    document = ranked.document
    fields = document.fields
    compared = _select_own_rankings(ranked) if document.embedder == embedder else []
    speaker = _describe_speaker(fields) if document.kind == MESSAGE else None
    day, superseded_at = fields.get("day") or fields.get("on"), fields.get("superseded_at")
    ids = [fields["message_id"]] if "message_id" in fields else fields.get("message_ids", ())
    return FoundItem(
        id=fields.get("fact_id") or fields.get("message_id") or document.id,
        kind=document.kind,
        title=speaker or {FACT: "noted", SUMMARY: "summary of a conversation"}.get(document.kind, document.kind),
        text=_choose_text(document),
        at=document.at,
        score=ranked.score,
        signals=ranked.signals,
        cosine=max((ranked.signals[name] for name in compared), default=None),
        by_words=ranked.added.issuperset(compared),
        source=ItemSource(document.thread_id, document.source_id, tuple(ids), agent_id=document.agent_id),
        superseded_at=datetime.fromisoformat(superseded_at) if superseded_at else None,
        superseded_by=fields.get("superseded_by"),
        role=fields.get("role"),
        day=date.fromisoformat(day) if day else None,
    )


def _describe_speaker(fields: Mapping[str, Any]) -> str:
    """Return the title of a message: its speaker and a verb."""
    author = find_author(fields)
    if author is not None:
        return f"{author.name}, a person, said"
    if fields.get("role") == EVENT:
        return "a schedule, an event or a task began a turn, and not the user"
    return f"the {'user' if fields.get('role') == Role.USER else 'assistant'} said"


def _select_own_rankings(ranked: Ranked) -> list[str]:
    """Return the rankings in which an item's own text was compared with the message by meaning.

    Other views contain its neighbours too, and would make every "Thank you" next to a relevant message relevant. Only a
    user's short message counts together with the previous message, because an answer such as "Miso." gets its meaning
    from the question.
    """
    document = ranked.document
    is_users = document.kind == MESSAGE and document.fields.get("role") == Role.USER
    text = _choose_text(document)
    is_short = len(text) <= MAX_SHORT_CHARS and len(text.split()) <= MAX_SHORT_WORDS
    views = [PAIR] if is_users and is_short else []
    names = [f"{view}.{Signal.MEANING}" for view in (TURN, DIGEST, *views)]
    return [name for name in names if name in ranked.signals]


def _choose_text(document: IndexDocument) -> str:
    """Return the text to show: the one in the fields, which has no date, or else that of a view."""
    text = document.fields.get("text")
    if isinstance(text, str) and text:
        return text
    return next((view.text for view in document.views.values()), "")


DEADLINE = timedelta(milliseconds=800)
"""The time for the retrievals for a message."""
EMBEDDING_SHARE = 0.6
"""The share of the deadline after which a slow embedding is given up, so that a search by words still has time."""
EMBEDDED_SHARE = 0.9
"""The share of the deadline after which procedures without vectors are left for later messages."""

T = TypeVar("T")

_Procedures = asyncio.Future[tuple[ProcedureSet, tuple[ProcedureMatch, ...]]]
"""The agent's procedures, and those that a trigger matches, while they are read."""


class Recall:
    """Retrieval from memory. A search that fails or is late finds nothing and gives the reason in place of an error."""

    def __init__(
        self, index: SearchIndex, knowledge: KnowledgeSearch, embedder: Embedder, *, deadline: timedelta = DEADLINE
    ) -> None:
        self.index = index
        self.knowledge = knowledge
        self.embedder = embedder
        self.deadline = deadline
        self.procedure_vectors = ProcedureVectors(embedder)

    async def find(
        self, agent: AgentDefinition, search: MemorySearch, *, earlier: Findings = NOTHING_FOUND
    ) -> Findings:
        """Return the findings within the deadline for a message to ``agent``; ``NOTHING_FOUND`` for a blank message.

        The deadline does not apply to reading the agent's procedures, so that triggers always match. ``earlier`` has
        findings for another agent: if they are for the same message, their embedding and episodes are used again.
        Raises only the errors of reading the procedures.
        """
        query, procedures = search.text.strip()[:MAX_QUERY], search.procedures
        if not query:
            return NOTHING_FOUND
        reading = asyncio.ensure_future(_read_procedures(procedures, search.text)) if procedures is not None else None
        is_same = earlier.query == query
        early = search.early if search.early is not None and search.early.fits(search.scope, query) else None
        if early is not None:
            early.join()
            embedding = early.embedding
        else:
            embedding = self._begin_embedding(search.scope, query, earlier.vector if is_same else None)
        retrievals = _MessageRetrievals(self, agent, search, query, embedding, early)
        try:
            findings = await retrievals.find(earlier.episodes if is_same else Retrieval(), reading)
            if reading is None:
                return findings
            _, triggered = await reading
        finally:
            if reading is not None:
                await cancel_all([reading])
        return replace(findings, procedure=replace(findings.procedure, items=(*triggered, *findings.procedure.items)))

    def begin(self, scope: Scope, text: str, agent: AgentDefinition) -> EarlyRecall | None:
        """Begin to embed a message, and to search the user's past and the agent's documents for it.

        Returns None for a blank message, and for an agent that searches neither.
        """
        query, memory = text.strip()[:MAX_QUERY], agent.memory
        if not query or not memory.retrieved_tokens or not (memory.episodic_top_k or memory.semantic_top_k):
            return None
        return EarlyRecall(
            scope,
            query,
            self._begin_embedding(scope, query),
            agent=agent,
            find_episodes=partial(self.find_episodes, scope, query) if memory.episodic_top_k else None,
            find_knowledge=partial(self.find_knowledge, scope, agent, query) if memory.semantic_top_k else None,
        )

    async def find_episodes(self, scope: Scope, query: str, vector: Vector | None) -> tuple[FoundItem, ...]:
        """Return the findings in the user's past. Raises ``SearchUnavailable`` and ``WrongDimension``."""
        with _trace_retrieval("episodes") as span:
            episodes = await find_episodes(self.index, scope, query, vector, self.embedder.name)
            span.set({Attribute.FOUND: len(episodes)})
        return episodes

    async def find_knowledge(
        self, scope: Scope, agent: AgentDefinition, query: str, vector: Vector | None
    ) -> tuple[FoundItem, ...]:
        """Return the findings in the agent's documents and libraries. Raises as ``find_episodes`` does."""
        with _trace_retrieval("knowledge") as span:
            found_items = await self.knowledge.find(scope, agent.id, query, vector, libraries=agent.libraries)
            span.set({Attribute.FOUND: len(found_items)})
        return found_items

    def _begin_embedding(self, scope: Scope, query: str, vector: Vector | None = None) -> MessageEmbedding:
        seconds = EMBEDDING_SHARE * self.deadline.total_seconds()
        return MessageEmbedding(self.embedder, query, tenant_id=scope.tenant_id, seconds=seconds, vector=vector)


async def _read_procedures(read: ReadProcedures, text: str) -> tuple[ProcedureSet, tuple[ProcedureMatch, ...]]:
    """Return the procedures that an agent may follow, and those of them with a trigger that the message matches."""
    procedures = await read()
    triggered = await off_loop(len(text) * procedures.triggers, procedures.find_triggered, text)
    return procedures, tuple(ProcedureMatch(match.procedure, match.trigger) for match in triggered)


@dataclass(slots=True)
class _MessageRetrievals:
    """The retrievals for one message."""

    recall: Recall
    agent: AgentDefinition
    search: MemorySearch
    query: str
    embedding: MessageEmbedding
    early: EarlyRecall | None
    began: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    is_meaning_missed: bool = False
    """True if procedures should have been compared by meaning, but the message has no vector."""

    async def find(self, earlier: Retrieval[FoundItem], procedures: _Procedures | None) -> Findings:
        """Run the retrievals, and return their findings at the deadline.

        ``earlier`` has the episodes that were found for the same message to another agent.
        """
        memory, search = self.agent.memory, self.search
        wants_episodes = search.with_episodes and memory.episodic_top_k > 0 and memory.retrieved_tokens > 0
        knowledge = episodes = procedure = None
        early, recall = self.early, self.recall
        if search.with_knowledge and memory.semantic_top_k and memory.retrieved_tokens:
            find = partial(recall.find_knowledge, search.scope, self.agent, self.query)
            step = early.find_knowledge_step(self.agent) if early is not None else None
            knowledge = step or RetrievalStep(self.embedding.find(find))
        if wants_episodes and not earlier.is_asked:
            find = partial(recall.find_episodes, search.scope, self.query)
            step = early.episodes if early is not None else None
            episodes = step or RetrievalStep(self.embedding.find(find))
        if procedures is not None:
            procedure = RetrievalStep(self._find_nearest_procedures(procedures))
        tasks: list[asyncio.Future[Any]] = [step.task for step in (knowledge, episodes, procedure) if step is not None]
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=self.recall.deadline.total_seconds())
        finally:
            await cancel_all([*tasks, *self.embedding.tasks])
        return Findings(
            query=self.query,
            vector=self.embedding.vector,
            procedure=self._finish_retrieval(procedure, Retrieval(), is_by_meaning=self.is_meaning_missed),
            knowledge=self._finish_retrieval(knowledge, Retrieval()),
            episodes=self._finish_retrieval(episodes, earlier if wants_episodes else Retrieval()),
        )

    async def _find_nearest_procedures(self, reading: _Procedures) -> tuple[ProcedureMatch, ...]:
        """Return the procedures nearest by meaning; none if a trigger matches, or if the message has no vector."""
        procedures, triggered = await asyncio.shield(reading)
        if not procedures.procedures or triggered:
            return ()
        vector = await self.embedding.get()
        if vector is None:
            self.is_meaning_missed = True
            return ()
        until = self.began + EMBEDDED_SHARE * self.recall.deadline.total_seconds()
        seconds = max(0.0, until - asyncio.get_running_loop().time())
        with _trace_retrieval("procedures") as span:
            matches = await self.recall.procedure_vectors.find_nearest(procedures, vector, seconds=seconds)
            span.set({Attribute.FOUND: len(matches)})
        return matches

    def _finish_retrieval(
        self, step: RetrievalStep[T] | None, otherwise: Retrieval[T], *, is_by_meaning: bool = True
    ) -> Retrieval[T]:
        """Return the findings of a retrieval; ``otherwise`` if it was not begun.

        ``is_by_meaning``: the retrieval needed the message's vector. If there was none, the reason becomes its error.
        """
        if step is None:
            return otherwise
        items, error = step.get_outcome(self.recall.deadline)
        words_only = self.embedding.words_only if is_by_meaning else None
        return Retrieval(items, step.duration, error or words_only, is_asked=True)


def _trace_retrieval(source: str) -> AbstractContextManager[Span]:
    return traced(Operation.RETRIEVAL, source, {Attribute.DATA_SOURCE: source}, is_remote=True)
