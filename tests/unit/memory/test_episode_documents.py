"""An episode becomes documents of the search index."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from baton.adapters.switched_off import NoEmbedder
from baton.domain.errors import EmbedderUnavailable
from baton.memory.episodes.episode_index import MAX_NEIGHBOUR, MAX_SHOWN, embed_documents, make_documents
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.unit.memory.episodes import MARCH, episode, fact, make_messages


def texts(number: int) -> list[str]:
    return [f"text {index}" for index in range(number)]


def test_a_message_is_searched_alone_after_the_one_before_and_with_those_around() -> None:
    document = make_documents(episode(), make_messages(texts(9)), None, ())[4]
    assert {name: view.text for name, view in document.views.items()} == {
        "turn": "2026-03-14 (Saturday, 14 March 2026): text 4",
        "pair": "2026-03-14 (Saturday, 14 March 2026): text 4\ntext 3",
        "window": "2026-03-14 (Saturday, 14 March 2026): text 4\ntext 3\ntext 5\ntext 2\ntext 6\ntext 1\ntext 7",
    }


def test_at_the_ends_there_are_fewer_around() -> None:
    first, *_, last = make_documents(episode(), make_messages(texts(3)), None, ())
    assert first.views["pair"].text == first.views["turn"].text == "2026-03-14 (Saturday, 14 March 2026): text 0"
    assert first.views["window"].text == "2026-03-14 (Saturday, 14 March 2026): text 0\ntext 1\ntext 2"
    assert last.views["window"].text == "2026-03-14 (Saturday, 14 March 2026): text 2\ntext 1\ntext 0"


def test_a_long_neighbour_leaves_room_for_the_message() -> None:
    long = "word " * 2_000
    document = make_documents(episode(), make_messages([long, "My bicycle is green", long]), None, ())[1]
    for view in ("pair", "window"):
        assert document.views[view].text.startswith("2026-03-14 (Saturday, 14 March 2026): My bicycle is green\nword ")
        assert len(document.views[view].text) < 2 * MAX_NEIGHBOUR + 80


def test_a_document_says_where_it_comes_from() -> None:
    of = episode()
    messages = make_messages(["hello", "hi"])
    kinds = make_documents(of, messages, "They greeted.", [fact("f1", "Ada is polite")])
    assert [document.kind for document in kinds] == ["message", "message", "summary", "fact"]
    assert {(document.source_id, document.thread_id) for document in kinds} == {(of.ref.id, of.ref.thread_id)}
    assert [document.agent_id for document in kinds] == [None, "assistant", None, None]
    common = {"number": 1, "started_at": "2026-03-14T09:30:00+00:00", "ended_at": "2026-03-14T10:30:00+00:00"}
    message, _, summary, of_fact = kinds
    assert (message.at, summary.at, of_fact.at) == (MARCH, MARCH, datetime(2026, 3, 14, tzinfo=UTC))
    assert message.fields == common | {
        "text": "hello",
        "message_id": "m0",
        "ordinal": 0,
        "role": "user",
        "timestamp": "2026-03-14T09:30:00+00:00",
    }
    assert summary.fields == common | {"text": "They greeted."}
    assert of_fact.fields == common | {
        "text": "Ada is polite",
        "fact_id": "f1",
        "on": "2026-03-14",
        "message_ids": ["m0"],
        "superseded_at": None,
        "superseded_by": None,
    }


def test_only_redacted_words_are_indexed() -> None:
    messages = [
        replace(message, redacted_content="[EMAIL]")
        for message in make_messages(["ada@example.com", "fine, ada@example.com"])
    ]
    for document in make_documents(episode(), messages, None, ()):
        assert "ada@" not in str(document)


def test_ids_are_the_same_each_time_and_differ_between_episodes_and_kinds() -> None:
    def ids(name: str) -> list[str]:
        return [
            episode_document.id
            for episode_document in make_documents(
                episode(name), make_messages(texts(3)), "summary", [fact("m0", "fact")]
            )
        ]

    assert ids("1") == ids("1")
    assert len({*ids("1"), *ids("2")}) == 10


def test_overlong_messages_are_cut() -> None:
    long = "x" * 1_000_000
    for document in make_documents(episode(), make_messages([long] * 7), long, [fact("f", long)]):
        assert sum(len(view.text) for view in document.views.values()) < 9 * MAX_NEIGHBOUR + 80_100
        assert len(document.fields["text"]) == MAX_SHOWN


async def test_every_view_gets_its_vector_and_equal_texts_are_embedded_once() -> None:
    embedder = FakeEmbedder()
    documents = await embed_documents(
        make_documents(episode(), make_messages(texts(3)), "sum", [fact("f", "a fact")]), embedder
    )
    for document in documents:
        assert document.embedder == "fake-embedder"
        for view in document.views.values():
            assert view.vector == embedder.vector(view.text_to_embed)
    assert embedder.embedded[0] == "2026-03-14: text 0"
    assert len(embedder.embedded) == len(set(embedder.embedded))
    assert embedder.queries == []


async def test_without_an_embedder_documents_have_words_only() -> None:
    documents = make_documents(episode(), make_messages(texts(3)), None, ())
    assert await embed_documents(documents, NoEmbedder()) == documents


async def test_an_embedder_that_fails_is_reported() -> None:
    with pytest.raises(EmbedderUnavailable):
        await embed_documents(
            make_documents(episode(), make_messages(texts(3)), None, ()), FakeEmbedder(failure=EmbedderUnavailable())
        )
