"""Division of a document into chunks: along headings, paragraphs and sentences, within bounds of size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from baton_documents.chunks.chunk import Chunk, ChunkPart
from baton_documents.chunks.units import MAX_UNIT, MIN_UNIT, Border, Unit, units_of
from baton_documents.results import TextBlock

MIN_CHUNK = 800
"""Characters that a chunk should have. Only a whole document may have less, and a chunk whose neighbours are full."""
TARGET_CHUNK = 1_200
MAX_CHUNK = 1_600
"""Characters that no chunk exceeds."""
MIN_BEFORE_HEADING = 8
"""Characters after which a heading may begin a chunk."""

CUT_COSTS: Mapping[Border, float] = {
    Border.HEADING: 0.0,
    Border.BLOCK: 0.1,
    Border.ITEM: 0.15,
    Border.SENTENCE: 0.25,
    Border.LINE: 0.8,
    Border.INSIDE: 1.0,
    Border.AFTER_HEADING: 2.0,
}
"""The cost of a cut at each border, in addition to the cost of the sizes that it makes."""
TOO_SHORT_COST = 4.0
"""The cost of a chunk that is shorter than ``MIN_CHUNK``; it grows the shorter the chunk is."""


def divide_into_chunks(blocks: Iterable[TextBlock]) -> list[Chunk]:
    """Divide a document, given as its blocks in the order of reading, into chunks.

    Every character of the text but white space is in exactly one chunk, in the order of reading. Of all divisions into
    chunks of at most ``MAX_CHUNK`` characters the cheapest is chosen: cuts are at headings rather than in paragraphs,
    sentences stay whole where they can, and sizes are near ``TARGET_CHUNK``.
    """
    units = list(units_of(blocks))
    chunks: list[Chunk] = []
    for start, end in _division(units):
        chunk = _chunk(len(chunks), units[start:end])
        if chunk.text:
            chunks.append(chunk)
    return chunks


def _division(units: Sequence[Unit]) -> list[tuple[int, int]]:
    """Return the ranges of units that make up the chunks: the shortest path over all cuts."""
    ends = list(accumulate((len(unit.separator) + len(unit.text) for unit in units), initial=0))
    cuts = _possible_cuts(units)
    costs, begins = [0.0], [0]
    for index, end in enumerate(cuts[1:], 1):
        best, best_place = float("inf"), index - 1
        for before in range(index - 1, -1, -1):
            start = cuts[before]
            size = ends[end] - ends[start] - len(units[start].separator)
            if size > MAX_CHUNK:
                break
            cost = costs[before] + _size_cost(size) + (CUT_COSTS[units[start].border] if start else 0.0)
            if cost < best:
                best, best_place = cost, before
        costs.append(best)
        begins.append(best_place)
    ranges, index = [], len(cuts) - 1
    while index > 0:
        ranges.append((cuts[begins[index]], cuts[index]))
        index = begins[index]
    return ranges[::-1]


def _possible_cuts(units: Sequence[Unit]) -> list[int]:
    """Return the places between units where cuts may be; at least a few characters apart, so that they are not many."""
    cuts, size = [0], 0
    for index, unit in enumerate(units):
        least = MIN_BEFORE_HEADING if unit.border is Border.HEADING else MIN_UNIT
        if index and (size >= least or size + len(unit.separator) + len(unit.text) > MAX_UNIT):
            cuts.append(index)
            size = 0
        size += len(unit.separator) + len(unit.text)
    return [*cuts, len(units)] if units else [0]


def _size_cost(size: int) -> float:
    # Each chunk costs something, so that two near the target are better than three.
    cost = 0.2 + ((size - TARGET_CHUNK) / TARGET_CHUNK) ** 2
    return cost + TOO_SHORT_COST * (MIN_CHUNK - size) / MIN_CHUNK if size < MIN_CHUNK else cost


def _chunk(ordinal: int, units: Sequence[Unit]) -> Chunk:
    text = "".join((unit.separator if index else "") + unit.text for index, unit in enumerate(units))
    pages = [unit.page for unit in units if unit.page is not None]
    characters: Counter[tuple[str, ...]] = Counter()
    for unit in units:
        characters[unit.headings] += len(unit.text)
    headings = max(characters, key=lambda path: characters[path]) if characters else ()
    stripped = text.lstrip("\r\n")
    return Chunk(
        ordinal,
        stripped.rstrip(),
        headings,
        min(pages, default=None),
        max(pages, default=None),
        next((unit.table_header for unit in units if unit.is_table), None),
        _parts(units, len(text) - len(stripped)),
    )


def _parts(units: Sequence[Unit], stripped: int) -> tuple[ChunkPart, ...]:
    """Return the parts of a chunk, without ``stripped`` characters at its beginning; none if it is of one piece."""
    parts: list[ChunkPart] = []
    end = -stripped
    for index, unit in enumerate(units):
        start = end + (len(unit.separator) if index else 0)
        end = start + len(unit.text)
        if not parts or (parts[-1].headings, parts[-1].page) != (unit.headings, unit.page):
            parts.append(ChunkPart(max(0, start), unit.headings, unit.page))
    return tuple(parts) if len(parts) > 1 else ()
