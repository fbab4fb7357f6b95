"""Division of a document into chunks of bounded size, at headings, paragraphs and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from baton_documents.chunks.chunk import Chunk, ChunkPart
from baton_documents.chunks.units import MAX_UNIT, MIN_UNIT, Border, Unit, divide_into_units
from baton_documents.results import TextBlock

MIN_CHUNK = 800
"""The size in characters below which a chunk costs more, so that mostly short documents have smaller chunks."""
TARGET_CHUNK = 1_200
MAX_CHUNK = 1_600
"""The most characters of a chunk."""
MIN_BEFORE_HEADING = 8
"""The fewest characters of a chunk that a heading ends."""

CUT_COSTS: Mapping[Border, float] = {
    Border.HEADING: 0.0,
    Border.BLOCK: 0.1,
    Border.ITEM: 0.15,
    Border.SENTENCE: 0.25,
    Border.LINE: 0.8,
    Border.INSIDE: 1.0,
    Border.AFTER_HEADING: 2.0,
}
"""The cost of a cut at each border, in addition to the costs of the sizes of chunks."""
TOO_SHORT_COST = 4.0
"""The additional cost of an empty chunk, which falls to 0 at ``MIN_CHUNK`` characters."""


def divide_into_chunks(blocks: Iterable[TextBlock]) -> list[Chunk]:
    """Divide a document, given as its blocks in the order of reading, into chunks.

    Every character except white space is in exactly one chunk. The division has the lowest cost of all those into
    chunks of at most ``MAX_CHUNK`` characters: it prefers cuts at headings to cuts in paragraphs, whole sentences, and
    sizes near ``TARGET_CHUNK``.
    """
    units = list(divide_into_units(blocks))
    chunks: list[Chunk] = []
    for start, end in _find_division(units):
        chunk = _make_chunk(len(chunks), units[start:end])
        if chunk.text:
            chunks.append(chunk)
    return chunks


def _find_division(units: Sequence[Unit]) -> list[tuple[int, int]]:
    """Return the ranges of units that make up the chunks: the cheapest path over all cuts."""
    ends = list(accumulate((len(unit.separator) + len(unit.text) for unit in units), initial=0))
    cuts = _find_cuts(units)
    costs, begins = [0.0], [0]
    for index, end in enumerate(cuts[1:], 1):
        best, best_place = float("inf"), index - 1
        for before in range(index - 1, -1, -1):
            start = cuts[before]
            size = ends[end] - ends[start] - len(units[start].separator)
            if size > MAX_CHUNK:
                break
            cost = costs[before] + _weigh_size(size) + (CUT_COSTS[units[start].border] if start else 0.0)
            if cost < best:
                best, best_place = cost, before
        costs.append(best)
        begins.append(best_place)
    ranges, index = [], len(cuts) - 1
    while index > 0:
        ranges.append((cuts[begins[index]], cuts[index]))
        index = begins[index]
    return ranges[::-1]


def _find_cuts(units: Sequence[Unit]) -> list[int]:
    """Return the indexes of units that may begin a chunk, and the number of units.

    A unit after only a few characters may not, unless these and the unit would exceed ``MAX_UNIT``.
    """
    cuts, size = [0], 0
    for index, unit in enumerate(units):
        least = MIN_BEFORE_HEADING if unit.border is Border.HEADING else MIN_UNIT
        if index and (size >= least or size + len(unit.separator) + len(unit.text) > MAX_UNIT):
            cuts.append(index)
            size = 0
        size += len(unit.separator) + len(unit.text)
    return [*cuts, len(units)] if units else [0]


def _weigh_size(size: int) -> float:
    """Return the cost of a chunk of ``size`` characters."""
    # Each chunk has a fixed cost, so that two chunks near the target are better than three.
    cost = 0.2 + ((size - TARGET_CHUNK) / TARGET_CHUNK) ** 2
    return cost + TOO_SHORT_COST * (MIN_CHUNK - size) / MIN_CHUNK if size < MIN_CHUNK else cost


def _make_chunk(ordinal: int, units: Sequence[Unit]) -> Chunk:
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
        _find_parts(units, len(text) - len(stripped)),
    )


def _find_parts(units: Sequence[Unit], stripped: int) -> tuple[ChunkPart, ...]:
    """Return the parts of a chunk whose first ``stripped`` characters were removed; empty if there is only one."""
    parts: list[ChunkPart] = []
    end = -stripped
    for index, unit in enumerate(units):
        start = end + (len(unit.separator) if index else 0)
        end = start + len(unit.text)
        if not parts or (parts[-1].headings, parts[-1].page) != (unit.headings, unit.page):
            parts.append(ChunkPart(max(0, start), unit.headings, unit.page))
    return tuple(parts) if len(parts) > 1 else ()
