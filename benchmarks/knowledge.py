"""Measure the quality of the search in documents: ``OPENBLAS_NUM_THREADS=1 python -m benchmarks.knowledge``.

Baton's documentation is divided, embedded and indexed as by the pipeline, with the local cloud's sentence encoder, and
searched for the questions of ``knowledge_questions.yaml``. R@5 is the share of the characters of a question's reference
passage that the first five items contain, averaged over all questions. A second table shows the items that a turn would
receive, for several minimum shares of the best item's score.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import yaml

from baton.adapters.models.token_counter import TiktokenCounter
from baton.composition.app import build
from baton.composition.ports import Ports
from baton.domain.agents.agent_settings import MemorySettings
from baton.domain.documents.document import Document, DocumentVersion, VersionStatus
from baton.domain.documents.search import IndexName
from baton.domain.memory.found_item import FoundItem
from baton.domain.tenants.identity import Scope
from baton.knowledge.chunk_documents import list_chunk_texts, make_chunk_documents
from baton.knowledge.knowledge_search import MAX_FOUND
from baton.memory.recall.selecting import select
from baton.memory.recalled import Findings, Retrieval
from baton.ports.documents.documents import DocumentStore
from baton.ports.documents.search import Embedder, SearchIndex
from baton_documents.chunks.division import divide_into_chunks
from baton_documents.results import ExtractedText
from baton_documents.text import markdown
from baton_local.root import ROOT, TOKENIZER
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.instruments.search_index import search_index
from benchmarks.recall import make_local_embedder

QUESTIONS = Path(__file__).parent / "knowledge_questions.yaml"
AGENT = "knowledge"
MEMORY = MemorySettings()
AT = datetime(2026, 1, 5, tzinfo=UTC)
ITEMS = (1, 3, 5, 10)
"""The numbers of first items for which the quality is measured."""
SHARES = (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6)
"""The minimum shares of the best item's score that are compared."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with the passage of a document that answers it."""

    text: str
    file: str
    start: int
    end: int
    """The end of the passage. Both bounds are offsets in the simplified text of the document."""


def simplify(text: str) -> str:
    """Return the letters and digits of a text in lower case, without the targets of links in Markdown.

    Texts that differ only in spaces and marks become equal.
    """
    return re.sub(r"[\W_]", "", re.sub(r"\]\([^)]*\)", "]", text)).casefold()


def read_questions(texts: Mapping[str, str]) -> tuple[list[Question], int]:
    """Return the questions whose passages the documents contain, and the number of the others, which are printed."""
    questions, left_out = list[Question](), 0
    for entry in yaml.safe_load(QUESTIONS.read_text()):
        text = texts[entry["file"]]
        for wording, first, last in entry["questions"]:
            start = text.find(simplify(first))
            end = text.find(simplify(last), start) + len(simplify(last))
            if start < 0 or end <= start:
                print(f"{entry['file']} has no such passage any more: {wording}")
                left_out += 1
                continue
            questions.append(Question(wording, entry["file"], start, end))
    return questions, left_out


def list_files() -> list[str]:
    """Return the names of the files that are indexed."""
    return ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]


class _Records:
    """The part of ``ports.documents.documents.DocumentStore`` that a search needs."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}

    async def get_many(self, scope: Scope, agent_id: str, document_ids: Collection[str]) -> Mapping[str, Document]:
        return {document_id: self.documents[document_id] for document_id in document_ids}


class _Ports(Ports):
    """A deployment's ports. A search needs only these three."""

    def __init__(self, search: SearchIndex, documents: DocumentStore, embedder: Embedder) -> None:
        self.search, self.documents, self.embedder = search, documents, embedder


class Library:
    """The indexed documents."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._records = _Records()
        self._embedder = make_local_embedder()
        self._scope = Scope(f"knowledge-{uuid.uuid4().hex[:8]}", "reader")
        ports = _Ports(index, cast("DocumentStore", self._records), self._embedder)
        self._search = build(ports).knowledge.search
        self._counter = TiktokenCounter(TOKENIZER)
        self.texts: dict[str, str] = {}
        """The simplified texts by file."""
        self._files: dict[str, str] = {}
        self.chunks: list[str] = []

    async def add(self, name: str) -> None:
        """Index a file."""
        await self.add_text(name, markdown.extract(await asyncio.to_thread((ROOT / name).read_bytes)))

    async def add_text(self, name: str, extracted: ExtractedText) -> None:
        """Index the text of a document."""
        version = DocumentVersion(1, VersionStatus.READY, name, "text/markdown", 1, "reader", AT)
        title = extracted.title or name
        document = Document(f"doc_{uuid.uuid4().hex}", AGENT, title, AT, AT, active=version)
        self._records.documents[document.id] = document
        chunks = divide_into_chunks(extracted.blocks)
        vectors = await self._embedder.embed(list_chunk_texts(document, chunks))
        documents = make_chunk_documents(document, version, chunks, vectors, self._embedder.name)
        await self._index.put(self._scope, IndexName.KNOWLEDGE, documents)
        self.texts[name] = simplify("\n".join(chunk.text for chunk in chunks))
        self._files[document.id] = name
        self.chunks += [chunk.text for chunk in chunks]

    async def search(self, question: str, *, limit: int = MAX_FOUND) -> Sequence[FoundItem]:
        """Return the items that a turn would find."""
        return (await self._search.search(self._scope, AGENT, question, limit=limit)).chunks

    async def measure_covered(self, question: Question) -> tuple[list[float], float | None]:
        """Return, for each of ``ITEMS``, the per cent of the reference in the first items, and the best cosine.

        The cosine is None if nothing is found.
        """
        items = await self.search(question.text, limit=max(ITEMS))
        covered, counts = set[int](), [0]
        for chunk in items:
            covered |= self._find_answering(question, chunk.source.document_id, chunk.text)
            counts.append(len(covered))
        shares = [100 * counts[min(number, len(items))] / (question.end - question.start) for number in ITEMS]
        return shares, max((chunk.cosine or 0.0 for chunk in items), default=None)

    async def measure_injected(self, question: Question) -> list[tuple[float, int, int]]:
        """Return, for each of ``SHARES``, the per cent of the reference that a turn receives, its items and tokens."""
        items = await self.search(question.text)
        retrieval = Retrieval(tuple(items), is_asked=True)
        results = []
        for share in SHARES:
            chosen = select(
                Findings(question.text, knowledge=retrieval), MEMORY, self._counter, least_share=share
            ).knowledge
            covered = set[int]()
            for item in chosen.included:
                covered |= self._find_answering(question, item.source.document_id, item.text)
            part = 100 * len(covered) / (question.end - question.start)
            results.append((part, len(chosen.included), chosen.tokens))
        return results

    def _find_answering(self, question: Question, document_id: str | None, chunk: str) -> set[int]:
        """Return the offsets of the reference's characters that a chunk contains."""
        text = self.texts[question.file]
        start = text.find(simplify(chunk)) if self._files.get(document_id or "") == question.file else -1
        if start < 0:
            return set()
        return set(range(max(start, question.start), min(start + len(simplify(chunk)), question.end)))


async def _run(options: argparse.Namespace) -> None:
    """Measure and print the tables."""
    async with search_index(options.engine, make_local_embedder()) as index:
        library = Library(index)
        for name in list_files():
            await library.add(name)
        cases, left_out = read_questions(library.texts)
        answers = [await library.measure_covered(question) for question in cases]
        injected = [await library.measure_injected(question) for question in cases]
    print(f"{options.engine or 'embedded index'}; {describe_machine()}\n")
    shares = [[shares[index] for shares, _ in answers] for index in range(len(ITEMS))]
    print(format_table([f"R@{items}, %" for items in ITEMS], [[statistics.mean(column) for column in shares]]), "\n")
    rows = [
        [f"{share:g}", *(statistics.mean(result[index][column] for result in injected) for column in range(3))]
        for index, share in enumerate(SHARES)
    ]
    print(format_table(["share of the best score", "reference found, %", "items", "tokens"], rows), "\n")
    lengths: Sequence[int] = sorted(map(len, library.chunks))
    print(f"{len(cases)} questions ({left_out} left out), {len(library.texts)} documents, {len(lengths)} chunks;")
    print(f"characters of a chunk: median {lengths[len(lengths) // 2]}, at most {lengths[-1]}")
    if options.missed:
        for question, (parts, cosine) in zip(cases, answers, strict=True):
            if parts[ITEMS.index(5)] < 100:
                print(f"{parts[ITEMS.index(5)]:5.0f} % {cosine or 0:.2f} {question.file}: {question.text}")


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", help="URL of an OpenSearch; without it the embedded index")
    parser.add_argument("--missed", action="store_true", help="list the questions that five items do not answer wholly")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
