"""A chunk has passages of a few sentences, which are compared with questions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from baton.knowledge.passages import MAX_PASSAGES, split_passages
from tests.extraction.chunks.texts import sentences


@given(st.one_of(st.text(max_size=1_600), st.text("ab. \n。", max_size=1_600), st.integers(0, 25).map(sentences)))
def test_the_passages_of_a_text_are_the_text(text: str) -> None:
    passages = split_passages(text)
    assert "".join(passages) in ("", text)
    assert len(passages) <= MAX_PASSAGES
    assert all(passages)


def test_a_short_text_has_no_passages() -> None:
    assert split_passages(sentences(4)) == []


def test_passages_end_with_sentences() -> None:
    passages = split_passages(sentences(22))
    assert len(passages) == MAX_PASSAGES
    assert all(passage.strip().endswith(".") for passage in passages)
