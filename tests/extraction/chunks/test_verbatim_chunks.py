"""The chunks of a text file are pieces of the file, character by character."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_documents.chunks.division import divide_into_chunks
from baton_documents.results import ExtractedText
from baton_documents.text import markdown, plain_text

PIECES = (
    "\n", "\n\n", "\n\n\n", " ", "    ", "\t", "\f", "# ", "## ", "===\n", "---\n", "* * *\n", "- ", "1. ", "> ",
    "```\n", "| a | b |\n|---|---|\n", "[a]: http://a.example\n", "[link](http://b.example)", "**bold** ", "<div>\n",
    "word ", "user: hello\nassistant: good day\n", "A sentence. ", "A sentence " + "of many words " * 30 + "ends. ",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map(lambda pieces: "lead\n" + "".join(pieces))


@pytest.mark.parametrize("extract", [markdown.extract, plain_text.extract])
@given(text=TEXTS)
def test_chunks_stand_in_the_file_one_after_another_with_white_space_between(
    extract: Callable[[bytes], ExtractedText], text: str
) -> None:
    end = 0
    for chunk in divide_into_chunks(extract(text.encode()).blocks):
        start = text.index(chunk.text, end)
        assert not text[end:start].strip()
        end = start + len(chunk.text)
    assert not text[end:].strip()


def test_headings_keep_their_marks_in_the_text_and_lose_them_in_the_path() -> None:
    text = "# A **pump** #\n\n\nFirst.\n\n---\n\nSetup\n-----\nSee [it][1].\n\n[1]: http://a.example\n"
    [chunk] = divide_into_chunks(markdown.extract(text.encode()).blocks)
    assert chunk.text == text.rstrip()
    assert chunk.headings == ("A **pump**", "Setup")
