"""Values for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from baton.domain.threads.content import Content, parse_content

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
_storable = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_extras = st.fixed_dictionaries(
    {},
    optional={"id": st.text(max_size=5), "metadata": st.dictionaries(st.text(max_size=5), _storable), "x": _storable},
)
_images = st.sampled_from(
    [
        {"type": "data", "value": "aGVsbG8=", "mimeType": "image/png"},
        {"type": "url", "value": "https://example.com/ü?a=1"},
        {"type": "file", "value": "file_" + "0" * 32, "provider": "baton"},
    ]
)
_parts = st.builds(lambda text, extra: {**extra, "type": "text", "text": text}, _texts, _extras) | st.builds(
    lambda kind, source, extra: {**extra, "type": kind, "source": source},
    st.sampled_from(["image", "document"]),
    _images,
    _extras,
)
contents: st.SearchStrategy[Content] = (_texts | st.lists(_parts, min_size=1, max_size=4)).map(parse_content)
"""Content that was accepted."""
