"""Measure the quality and speed of recall: ``OPENBLAS_NUM_THREADS=1 python -m benchmarks.recall``.

Quality is measured on the histories of ``chat_histories``, with the local cloud's sentence encoder. Latency is measured
on random messages with random vectors of three views each, without the embedder.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import statistics
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np

from baton.composition.app import build
from baton.composition.ports import Ports
from baton.domain.documents.search import (
    IndexDocument,
    IndexName,
    SearchClause,
    SearchFilter,
    SearchQuery,
    SearchResult,
    Vector,
    compute_clause_weights,
    fuse_scores,
    rank,
)
from baton.domain.errors import SearchUnavailable
from baton.domain.memory.episode import EpisodeMessage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role
from baton.memory.episodes.episode_index import MESSAGE, embed_documents, make_documents
from baton.memory.episodes.episode_search import USUAL_WEIGHTS, EpisodeSearch, score_messages
from baton.ports.documents.search import Embedder, EmbeddingPurpose, SearchIndex
from baton_local.demo_model.sentence_embedder import SentenceEmbedder
from baton_local.demo_model.sentence_encoder import DIMENSIONS, NAME, SentenceEncoder
from benchmarks.inputs.chat_histories import BEGIN, History, make_history
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.instruments.search_index import search_index

USERS = 6
SESSIONS = 30
QUESTIONS = 40
SEARCHES = 400
STORED_AT_ONCE = 4
"""The tenants whose documents are stored at the same time, because OpenSearch makes each wait for its next refresh."""
PUTS = 20
"""The most attempts to store a batch. An engine that builds its graphs may make writers wait for too long."""
RETRY_SECONDS = 5
"""The seconds between two attempts."""
MISSING_RANK = 10**6
"""The rank of an id that is not among the results."""
MESSAGES_OF_A_SESSION = 20
MESSAGES_OF_A_LONG_HISTORY = 12_000


def make_local_embedder() -> SentenceEmbedder:
    """Return an embedder with the local cloud's encoder in this process."""
    return SentenceEmbedder(SentenceEncoder())


@dataclass(frozen=True, slots=True)
class Hits:
    """The share of questions whose session and message were among the first five and ten, in per cent."""

    session_5: float
    session_10: float
    message_5: float
    message_10: float


async def measure_quality(index: SearchIndex, *, users: int, facts: bool) -> dict[str, Hits]:
    """Return the hits of each signal alone, of all signals together, and of the product's search."""
    embedder = make_local_embedder()
    ranks: dict[str, list[tuple[int, int]]] = {}
    tenant = f"quality-{uuid.uuid4().hex[:8]}"
    for number in range(users):
        scope = Scope(tenant, f"user-{number}")
        sample = make_history(number, sessions=SESSIONS, questions=QUESTIONS)
        await _import(index, scope, sample, embedder, facts=facts)
        search = _make_search(index, embedder)
        for question in sample.questions:
            [vector] = await embedder.embed([question.text], purpose=EmbeddingPurpose.QUERY)
            for name, (sessions, messages) in (
                await _find_rankings(index, scope, question.text, vector, search)
            ).items():
                ranks.setdefault(name, []).append(
                    (_find_rank(sessions, question.episode_id), _find_rank(messages, question.message_id))
                )
    return {name: _count_hits(values) for name, values in ranks.items()}


async def _import(
    index: SearchIndex, scope: Scope, sample: History, embedder: SentenceEmbedder, *, facts: bool
) -> None:
    for episode, messages, session_facts in sample.sessions:
        documents = make_documents(episode, messages, None, session_facts if facts else ())
        await index.put(scope, IndexName.EPISODES, await embed_documents(documents, embedder))


class _Ports(Ports):
    """A deployment's ports. A search needs only these two."""

    def __init__(self, search: SearchIndex, embedder: Embedder) -> None:
        self.search, self.embedder = search, embedder


def _make_search(index: SearchIndex, embedder: Embedder) -> EpisodeSearch:
    """Return a deployment's search of episodes."""
    return build(_Ports(index, embedder)).memory.episode_search


async def _find_rankings(
    index: SearchIndex, scope: Scope, text: str, vector: Vector, search: EpisodeSearch
) -> dict[str, tuple[list[str], list[str]]]:
    """Return the ids of sessions and messages, best first, by the name of the ranking."""
    every = compute_clause_weights(USUAL_WEIGHTS.messages)
    result = await index.search(
        scope, IndexName.EPISODES, SearchQuery(text, vector, tuple(every), SearchFilter(kinds=(MESSAGE,)))
    )
    rankings = {f"{clause.view}, {clause.signal}": _fuse(result, {clause: 1.0}) for clause in every}
    rankings["fused"] = _fuse(result, every)
    scored = score_messages(result.candidates, every, USUAL_WEIGHTS)
    by_session = sorted(scored.sessions, key=lambda id_: (-scored.sessions[id_], id_))
    rankings["with sessions"] = by_session, _list_message_ids(result, every, scored.messages)
    episodes = await search.search(scope, text, limit=20, vector=vector)
    matches = sorted((match for episode in episodes for match in episode.matches), key=lambda match: -match.score)
    rankings["the search"] = ([episode.episode_id for episode in episodes], [match.message_id for match in matches])
    return rankings


def _fuse(result: SearchResult, weights: Mapping[SearchClause, float]) -> tuple[list[str], list[str]]:
    scores = fuse_scores(result.candidates, weights)
    by_message = dict.fromkeys(hit.document.source_id for hit in rank(result, weights, scores))
    return list(by_message), _list_message_ids(result, weights, scores)


def _list_message_ids(
    result: SearchResult, weights: Mapping[SearchClause, float], scores: Mapping[str, float]
) -> list[str]:
    return [hit.document.fields["message_id"] for hit in rank(result, weights, scores)]


def _find_rank(ranked: Sequence[str], identifier: str) -> int:
    """Return the rank of an id, from 1; ``MISSING_RANK`` if it is missing."""
    return ranked.index(identifier) + 1 if identifier in ranked else MISSING_RANK


def _count_hits(ranks: Sequence[tuple[int, int]]) -> Hits:
    def measure_share(position: int, limit: int) -> float:
        return 100 * statistics.mean(rank[position] <= limit for rank in ranks)

    return Hits(measure_share(0, 5), measure_share(0, 10), measure_share(1, 5), measure_share(1, 10))


@dataclass(frozen=True, slots=True)
class Latency:
    """Times of searches in milliseconds, and the speed of storing."""

    p50: float
    p95: float
    cpu: float
    """The 95th percentile of this process's CPU milliseconds, without those of a separate engine."""
    first: float
    """The slowest search of a user whose vectors were not in memory."""
    stored: float
    """Documents stored in a second."""


async def measure_latency(index: SearchIndex, *, documents: int, tenants: int, rounds: int = 1) -> list[Latency]:
    """Measure searches of random users, one in each tenant. Repeat it ``rounds`` times over the same documents."""
    chance = np.random.default_rng(documents)
    mark = uuid.uuid4().hex[:8]
    scopes = [Scope(f"latency-{mark}-{number}", "user") for number in range(tenants)]
    places = asyncio.Semaphore(STORED_AT_ONCE)

    async def store(number: int, scope: Scope) -> None:
        async with places:
            documents_of_tenant = make_random_documents(
                np.random.default_rng((documents, number)), documents // tenants, f"{mark}/{number}"
            )
            while batch := list(itertools.islice(documents_of_tenant, 1_000)):
                await _put(index, scope, batch)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number, scope in enumerate(scopes):
            group.create_task(store(number, scope))
    stored = documents / (time.perf_counter() - began)
    return [await _measure_searches(index, scopes, chance, stored) for _ in range(rounds)]


async def _put(index: SearchIndex, scope: Scope, batch: Sequence[IndexDocument]) -> None:
    """Store a batch in up to ``PUTS`` attempts. Raises ``SearchUnavailable``."""
    for attempt in range(1, PUTS + 1):
        try:
            await index.put(scope, IndexName.EPISODES, batch)
        except SearchUnavailable:
            if attempt == PUTS:
                raise
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


async def _measure_searches(
    index: SearchIndex, scopes: Sequence[Scope], chance: np.random.Generator, stored: float
) -> Latency:
    """Search ``SEARCHES`` times for random users. Raises ``RuntimeError`` if a search finds nothing."""
    search = _make_search(index, make_local_embedder())
    firsts, others, cpu, seen = list[float](), list[float](), list[float](), set[str]()
    for _ in range(SEARCHES):
        scope = scopes[int(chance.integers(len(scopes)))]
        text, vector = _make_question(chance), _make_vectors(chance, 1)[0].tolist()
        began, cpu_began = time.perf_counter(), time.process_time()
        result = await search.search(scope, text, limit=10, vector=vector)
        taken = 1_000 * (time.perf_counter() - began)
        cpu.append(1_000 * (time.process_time() - cpu_began))
        if not result:
            raise RuntimeError("a search found nothing")
        (others if scope.tenant_id in seen else firsts).append(taken)
        seen.add(scope.tenant_id)
    both = others + firsts
    return Latency(
        _find_percentile(both, 50), _find_percentile(both, 95), _find_percentile(cpu, 95), max(firsts), stored
    )


def _read_load() -> float:
    """Return the load average of the last minute."""
    return round(os.getloadavg()[0], 1)


def _find_percentile(values: Sequence[float], per_cent: int) -> float:
    return sorted(values)[len(values) * per_cent // 100]


def make_random_documents(chance: np.random.Generator, number: int, name: str) -> Iterator[IndexDocument]:
    """Yield the documents of random messages, in sessions of ``MESSAGES_OF_A_SESSION``."""
    template = make_history(0, sessions=1, questions=0).sessions[0][0]
    for session in range(0, number, MESSAGES_OF_A_SESSION):
        size = min(MESSAGES_OF_A_SESSION, number - session)
        at = BEGIN + timedelta(hours=session)
        thread = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{name}/{session}"))
        episode = replace(template, ref=replace(template.ref, thread_id=thread), started_at=at)
        messages = [
            EpisodeMessage(f"{session + index}", index, Role.USER, _make_words(chance, (15, 60, 200)[index % 3]), at)
            for index in range(size)
        ]
        for document in make_documents(episode, messages, None, ()):
            vectors = _make_vectors(chance, len(document.views))
            views = {
                view: replace(text, vector=vector.tolist())
                for (view, text), vector in zip(document.views.items(), vectors, strict=True)
            }
            yield replace(document, views=views, embedder=NAME)


_SYLLABLES = ("ka", "lo", "mi", "ne", "pu", "ra", "so", "ti")
VOCABULARY = ["".join(parts) for parts in itertools.product(_SYLLABLES, repeat=5)][:20_000]
"""Words with the frequencies of natural text (Zipf): the first ones occur in nearly every message."""
STOP_WORDS = 100
"""The number of most frequent words, which make up half of a text and which an index ignores in a question."""
_FREQUENCY = 1 / np.arange(3, len(VOCABULARY) + 3)
_FREQUENCY /= _FREQUENCY.sum()


def _make_words(chance: np.random.Generator, number: int) -> str:
    return " ".join(VOCABULARY[index] for index in chance.choice(len(VOCABULARY), number, p=_FREQUENCY))


def _make_question(chance: np.random.Generator) -> str:
    """Return a question of fifteen words, without the stop words among them."""
    places = chance.choice(len(VOCABULARY), 15, p=_FREQUENCY)
    return " ".join(VOCABULARY[index] for index in places if index >= STOP_WORDS) or VOCABULARY[STOP_WORDS]


def _make_vectors(chance: np.random.Generator, number: int) -> Any:
    vectors = chance.standard_normal((number, DIMENSIONS)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


async def _run(options: argparse.Namespace) -> None:
    """Measure and print the tables."""
    async with search_index(options.engine, make_local_embedder()) as index:
        print(f"{options.engine or 'embedded index'}; {describe_machine()}\n")
        if options.quality:
            hits = await measure_quality(index, users=options.users, facts=options.facts)
            columns = ["ranked by", "session R@5", "R@10", "message R@5", "R@10"]
            rows = [(name, hit.session_5, hit.session_10, hit.message_5, hit.message_10) for name, hit in hits.items()]
            print(format_table(columns, rows), "\n")
        if options.latency:
            sizes = [(documents, options.tenants) for documents in options.documents]
            rows_of_latency = []
            for documents, tenants in [*sizes, (MESSAGES_OF_A_LONG_HISTORY, 1)]:
                rows_of_latency += [
                    (f"{documents:,} of {tenants}", row.p50, row.p95, row.cpu, row.first, row.stored, _read_load())
                    for row in await measure_latency(index, documents=documents, tenants=tenants, rounds=options.rounds)
                ]
                print(rows_of_latency[-options.rounds :], flush=True)
            print(
                format_table(
                    ["messages of tenants", "p50, ms", "p95, ms", "p95, CPU ms", "slowest first", "stored/s", "load"],
                    rows_of_latency,
                )
            )


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", help="URL of an OpenSearch; without it the embedded index")
    parser.add_argument("--users", type=int, default=USERS, help="users of the histories")
    parser.add_argument("--facts", action="store_true", help="index the stated facts too, as a model would write them")
    parser.add_argument("--tenants", type=int, default=100, help="tenants with the messages (default: %(default)s)")
    parser.add_argument(
        "--documents",
        type=lambda text: [int(number) for number in text.split(",")],
        default=[1_000, 100_000],
        help="numbers of messages of all tenants, separated by commas (default: 1000,100000)",
    )
    parser.add_argument("--rounds", type=int, default=1, help="measurements of each latency")
    parser.add_argument("--no-quality", dest="quality", action="store_false")
    parser.add_argument("--no-latency", dest="latency", action="store_false")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
