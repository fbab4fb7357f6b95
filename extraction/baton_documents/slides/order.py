"""The order in which a person reads the shapes of a slide: in rows from the top, and from left to right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from baton_documents.office.xml import qname

_TRANSFORMS = (f"{qname('p:spPr')}/{qname('a:xfrm')}", qname("p:xfrm"), f"{qname('p:grpSpPr')}/{qname('a:xfrm')}")
"""The elements with the places of shapes, tables and groups."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a shape in EMU (914,400 in an inch), from the top left corner of the slide or of its group."""

    left: int
    top: int
    height: int


def find_place(shape: Any) -> Place | None:
    """Return the shape's own place; None if it has none, so that the layout decides."""
    for path in _TRANSFORMS:
        transform = shape.find(path)
        if transform is not None:
            offset, extent = transform.find(qname("a:off")), transform.find(qname("a:ext"))
            left, top, height = _read_number(offset, "x"), _read_number(offset, "y"), _read_number(extent, "cy")
            if left is not None and top is not None:
                return Place(left, top, max(height or 0, 0))
    return None


def sort_by_reading_order(shapes: Iterable[tuple[Place | None, Any]]) -> list[Any]:
    """Return shapes in the order of reading. Those without a place are last, in their given order.

    A shape belongs to a row if it begins above the middle of the row's shortest shape. Shapes without a height, such
    as lines, do not count.
    """
    shapes = list(shapes)
    placed = sorted(((place, shape) for place, shape in shapes if place is not None), key=lambda pair: pair[0].top)
    rows: list[list[tuple[Place, Any]]] = []
    end = 0.0
    least = 0
    for place, shape in placed:
        if not rows or place.top >= end:
            rows.append([])
            least = 0
        rows[-1].append((place, shape))
        if place.height and (not least or place.height < least):
            least = place.height
        end = rows[-1][0][0].top + max(least / 2, 1)
    ordered = [shape for row in rows for _, shape in sorted(row, key=lambda pair: pair[0].left)]
    return ordered + [shape for place, shape in shapes if place is None]


def _read_number(element: Any | None, name: str) -> int | None:
    """Return the integer in an attribute; None if it is missing or longer than 11 characters."""
    value = element.get(name, "") if element is not None else ""
    return int(value) if value.removeprefix("-").isdecimal() and len(value) < 12 else None
