"""The place of a found chunk in its document: the headings above it, and its page.

A chunk may cross a heading or the end of a page. It is cited with the place of the part that answers, not with that of
most of its text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton.domain.documents.search_words import search_form, split_words
from baton.knowledge.passages import split_passages
from baton_documents.chunks.chunk import ChunkPart

PLACES = "places"
"""The field of an indexed chunk with the places of its parts, if it has several."""
MAX_PLACES = 24
"""Parts of a chunk whose places are kept. A chunk with more is cited as a whole."""
MAX_SECTION = 500
"""Characters of a part's path of headings. Its end stays."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a text in its document."""

    section: str | None = None
    first_page: int | None = None
    last_page: int | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    start: int
    end: int
    place: Place


def encode_places(parts: Sequence[ChunkPart], section: Callable[[Sequence[str]], str | None]) -> list[dict[str, Any]]:
    """Return the places of a chunk's parts for the index; none if there are too many to be kept."""
    if len(parts) > MAX_PLACES:
        return []
    stored = [
        {"start": part.start, "section": (section(part.headings) or "")[-MAX_SECTION:] or None, "page": part.page}
        for part in parts
    ]
    return [{name: value for name, value in place_values.items() if value is not None} for place_values in stored]


def find_place(text: str, fields: Mapping[str, Any], passage: int | None, query: str) -> Place:
    """Return the place of the part of a found chunk that fits a query best.

    ``passage`` is the number of the passage that was found by its meaning. Without one it is the passage with most of
    the query's words. If the passage has several parts, the one with most of these words counts, and among equals the
    longest.
    """
    whole = Place(fields.get("section"), fields.get("first_page"), fields.get("last_page"))
    parts = _parts(text, fields.get(PLACES))
    if not parts:
        return whole
    ranges = _ranges(text)
    if passage is not None and passage < len(ranges):
        start, end = ranges[passage]
    else:
        start, end = _find_best_range(text, ranges, query)
    inside = {(max(part.start, start), min(part.end, end)): part.place for part in parts}
    inside = {bounds: chunk_place for bounds, chunk_place in inside.items() if bounds[0] < bounds[1]}
    return inside[_find_best_range(text, list(inside), query)] if inside else whole


def _parts(text: str, stored: object) -> list[_Part]:
    if not isinstance(stored, list) or not all(isinstance(part, dict) for part in stored):
        return []
    starts = [int(part.get("start", 0)) for part in stored]
    return [
        _Part(start, end, Place(part.get("section"), part.get("page"), part.get("page")))
        for start, end, part in zip(starts, [*starts[1:], len(text)], stored, strict=False)
    ]


def _ranges(text: str) -> list[tuple[int, int]]:
    """Return the bounds of a chunk's passages: of the whole text, if it has none."""
    ranges, start = [], 0
    for passage in split_passages(text) or [text]:
        ranges.append((start, start + len(passage)))
        start += len(passage)
    return ranges


def _find_best_range(text: str, ranges: Sequence[tuple[int, int]], query: str) -> tuple[int, int]:
    """Return the range with most of a query's words. A word counts the less, the more of the ranges have it."""
    query_words = _words(query)
    matches = [query_words & _words(text[start:end]) for start, end in ranges]
    spread = Counter(word for words in matches for word in words)
    scores = [sum(1 / spread[word] for word in sorted(words)) for words in matches]
    best = max(range(len(ranges)), key=lambda index: (scores[index], ranges[index][1] - ranges[index][0], -index))
    return ranges[best]


def _words(text: str) -> frozenset[str]:
    return frozenset(split_words(search_form(text)))
