"""Places on a PDF page as it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


class Flow(Enum):
    """The direction of the lines of a page."""

    FROM_LEFT = auto()
    FROM_RIGHT = auto()
    VERTICAL = auto()
    """Lines run down, and the first line is the rightmost one."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in points from the corner where the shown page begins.

    On a page in English, this is the top left corner. A page in Hebrew is mirrored, and a page in vertical Japanese is
    turned to the left, so that "left" is always where lines begin, and "top" where the first line is. The same code can
    therefore find lines, columns and tables on all three.
    """

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """The vertical middle, halfway between top and bottom."""
        return (self.top + self.bottom) / 2

    @property
    def area(self) -> float:
        return max(self.width, 0.0) * max(self.height, 0.0)

    def intersect(self, other: Box) -> Box:
        """Return the intersection with another box; a box without area if they do not overlap."""
        return Box(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def unite(self, other: Box) -> Box:
        """Return the smallest box that contains both boxes."""
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    def holds(self, other: Box) -> bool:
        """Return whether the centre of another box is in this box."""
        across = (other.left + other.right) / 2
        return self.left <= across <= self.right and self.top <= other.middle <= self.bottom


@dataclass(frozen=True, slots=True)
class PagePlaces:
    """The shown part of a page, in the file's coordinates, with its rotation and flow."""

    left: float
    bottom: float
    right: float
    top: float
    turns: int
    """The rotation in clockwise quarter turns."""
    flow: Flow = Flow.FROM_LEFT

    @classmethod
    def of(cls, page: Any, flow: Flow = Flow.FROM_LEFT) -> PagePlaces:
        """Return the places of a page of pypdfium2."""
        left, bottom, right, top = page.get_bbox()
        return cls(left, bottom, right, top, page.get_rotation() // 90 % 4, flow)

    @property
    def whole(self) -> Box:
        """The box of the whole shown page."""
        return self.place_box(self.left, self.bottom, self.right, self.top)

    def place_point(self, x: float, y: float) -> tuple[float, float]:
        """Return the place on the shown page for a point in the file's coordinates."""
        across, down = self._turn(x, y)
        if self.flow is Flow.FROM_LEFT:
            return across, down
        return (self._width - across, down) if self.flow is Flow.FROM_RIGHT else (down, self._width - across)

    @property
    def _width(self) -> float:
        return self.top - self.bottom if self.turns % 2 else self.right - self.left

    def _turn(self, x: float, y: float) -> tuple[float, float]:
        """Return the distances of a point from the left and top edges of the page as it is turned."""
        match self.turns:
            case 1:
                return y - self.bottom, x - self.left
            case 2:
                return self.right - x, y - self.bottom
            case 3:
                return self.top - y, self.right - x
        return x - self.left, self.top - y

    def place_box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """Return the box on the shown page for a rectangle in the file's coordinates."""
        if not self.turns and self.flow is Flow.FROM_LEFT and left <= right and bottom <= top:  # the usual case
            return Box(left - self.left, self.top - top, right - self.left, self.top - bottom)
        (x, y), (other_x, other_y) = self.place_point(left, bottom), self.place_point(right, top)
        return Box(min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y))
