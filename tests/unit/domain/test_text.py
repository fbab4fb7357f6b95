"""Text by its size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from baton.domain.text import first_bytes, utf8_size

TEXT = st.text(st.sampled_from("aé€😀\ud83d"), max_size=20)


@given(TEXT, st.integers(-1, 60))
def test_the_beginning_is_as_long_as_it_may_be(text: str, size: int) -> None:
    beginning = first_bytes(text, size)
    assert text.startswith(beginning)
    assert utf8_size(beginning) <= max(0, size)
    following = text[len(beginning) : len(beginning) + 1]
    assert not following or utf8_size(beginning + following) > size
