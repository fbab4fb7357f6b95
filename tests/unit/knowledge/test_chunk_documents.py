"""The fields of a chunk in the index: its text verbatim, and a text to search with its headings."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from baton.domain.documents.document import Document, DocumentVersion, VersionStatus
from baton.knowledge.chunk_documents import PASSAGES, list_chunk_texts, make_chunk_documents
from baton.knowledge.passages import MAX_PASSAGES
from baton_documents.chunks.chunk import Chunk
from tests.extraction.chunks.texts import sentences

AT = datetime(2026, 3, 14, tzinfo=UTC)
VERSION = DocumentVersion(2, VersionStatus.PROCESSING, "pumps.pdf", "application/pdf", 9, "ada", AT)
DOCUMENT = Document("d1", "knowledge", "Pumps", AT, AT, "https://a.example/p", "pump:read", next=VERSION)
CHUNK = Chunk(3, "7 | red", ("Pumps", "Colours"), 4, 5, "Number | Colour")


def test_a_chunk_is_searched_with_title_headings_and_table_header():
    assert list_chunk_texts(DOCUMENT, [CHUNK]) == ["Pumps > Colours\nNumber | Colour\n7 | red"]


def test_the_document_of_the_index_names_version_place_and_permission():
    [document] = make_chunk_documents(DOCUMENT, VERSION, [CHUNK], [(1.0, 0.0)], "model")

    assert (document.id, document.source_id, document.kind) == ("d1@2#3", "d1@2", "chunk")
    assert (document.agent_id, document.required_permission, document.embedder, document.at) == (
        "knowledge",
        "pump:read",
        "model",
        AT,
    )
    assert document.views["chunk"].vector == (1.0, 0.0)
    assert document.fields == {
        "text": "7 | red",
        "table_header": "Number | Colour",
        "title": "Pumps",
        "section": "Colours",
        "first_page": 4,
        "last_page": 5,
        "url": "https://a.example/p",
        "document_id": "d1",
        "version": 2,
        "ordinal": 3,
    }


def test_a_long_chunk_is_embedded_by_its_passages_and_searched_by_its_words_as_a_whole() -> None:
    chunk = Chunk(0, sentences(22))
    texts = list_chunk_texts(DOCUMENT, [CHUNK, chunk])
    assert len(texts) == 1 + MAX_PASSAGES
    assert all(text.startswith("Pumps\nSentence ") for text in texts[1:])
    vectors = [(float(number), 1.0) for number in range(len(texts))]
    _, documents = make_chunk_documents(DOCUMENT, VERSION, [CHUNK, chunk], vectors, "model")
    assert documents.views["chunk"].vector is None
    assert documents.views["chunk"].text.endswith(chunk.text)
    assert [documents.views[name].vector for name in PASSAGES] == vectors[1:]


def test_without_an_embedder_no_text_has_a_vector() -> None:
    [document] = make_chunk_documents(DOCUMENT, VERSION, [Chunk(0, sentences(22))], [], None)
    assert document.embedder is None
    assert all(view.vector is None for view in document.views.values())


def test_a_chunk_that_could_not_be_embedded_names_no_model():
    plain = replace(DOCUMENT, url=None, required_permission=None)
    [document] = make_chunk_documents(plain, VERSION, [Chunk(0, "Text.")], [None], "model")

    assert document.embedder is None
    assert document.fields.keys() == {"text", "title", "document_id", "version", "ordinal"}
