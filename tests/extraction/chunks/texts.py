"""Texts of documents that are divided into chunks."""

from __future__ import annotations

from hypothesis import strategies as st

from baton_documents.results import BlockKind, TextBlock

HEADING, PARAGRAPH, CODE, TABLE, ITEM = (
    BlockKind.HEADING,
    BlockKind.PARAGRAPH,
    BlockKind.CODE,
    BlockKind.TABLE,
    BlockKind.LIST_ITEM,
)
SENTENCE = "The valve is opened by hand before the pump begins to run. "


def heading(text: str, level: int = 1, page: int | None = None) -> TextBlock:
    return TextBlock(HEADING, text, page, level)


def paragraph(text: str, page: int | None = None) -> TextBlock:
    return TextBlock(PARAGRAPH, text, page)


def sentences(count: int, about: str = "valve") -> str:
    return " ".join(f"Sentence {index} tells what the {about} does when the pump runs." for index in range(count))


_TEXTS = st.one_of(
    st.text(max_size=200),
    st.text("ab .\n。漢字\u0301|,", max_size=3_000),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=20), st.integers(1, 400)),
    st.integers(1, 60).map(sentences),
)


@st.composite
def blocks(draw: st.DrawFn) -> TextBlock:
    kind = draw(st.sampled_from(BlockKind))
    level = draw(st.none() | st.integers(1, 7)) if kind is HEADING else None
    return TextBlock(kind, draw(_TEXTS), draw(st.none() | st.integers(1, 9)), level)


documents = st.lists(blocks(), max_size=36)
