"""Values for property tests."""

from __future__ import annotations

from typing import Any

from ag_ui.core import TextPart
from hypothesis import strategies as st

from baton.domain.content import parse_content
from baton.domain.errors import BatonError
from baton.domain.message import Content

tenants = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}", fullmatch=True)
printable = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
"""Whatever ``json.loads`` may return: also NaN, and text with lone surrogates."""

_sources = (
    st.fixed_dictionaries(
        {"type": st.sampled_from(["data", "url", "file", "x"]), "value": st.text(st.characters(), max_size=20)},
        optional={"mimeType": st.text(max_size=9), "mime_type": st.text(max_size=9), "provider": json_values},
    )
    | st.just({"type": "data", "value": "aGVsbG8=", "mimeType": "image/png"})
    | st.just({"type": "url", "value": "https://example.com/ü?a=1"})
    | st.just({"type": "file", "value": "file_" + "0" * 32, "provider": "baton"})
    | json_values
)
raw_parts = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "document", "audio", "video"]) | json_values},
    optional={
        "text": st.text(st.characters(), max_size=20) | json_values,
        "source": _sources,
        "id": st.text(max_size=5) | json_values,
        "metadata": json_values,
        "caption": json_values,
    },
)
raw_contents: st.SearchStrategy[Any] = (
    json_values | st.text(st.characters()) | st.lists(raw_parts | json_values, max_size=4)
)
"""Content as a client might send it: nearly right, or anything at all."""


_texts = st.text(min_size=1).filter(lambda text: bool(text.strip()))


def _taken(raw: Any) -> bool:
    try:
        parse_content(raw)
    except BatonError:
        return False
    return True


contents: st.SearchStrategy[Content] = (
    raw_contents.filter(_taken).map(parse_content)
    | _texts
    | st.lists(_texts, min_size=1, max_size=5).map(lambda texts: tuple(TextPart(text=text) for text in texts))
)
"""Content that was accepted."""
