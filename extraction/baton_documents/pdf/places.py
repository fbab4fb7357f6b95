"""Places on a page of a PDF file as a reader sees it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


class Flow(Enum):
    """The way in which the lines of a page run."""

    FROM_LEFT = auto()
    FROM_RIGHT = auto()
    VERTICAL = auto()
    """Lines run down, the first one at the right."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in points from where the page begins as it is shown.

    On a page of English, that is its left and its top. On a page of Hebrew, the places are those in a mirror, and on a
    page of vertical Japanese those on a page that is turned to the left: the "left" is where lines begin, and the "top"
    where the first line is. So whatever looks for lines, columns and tables holds for all three.
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
        """The height of its middle."""
        return (self.top + self.bottom) / 2

    @property
    def area(self) -> float:
        return max(self.width, 0.0) * max(self.height, 0.0)

    def within(self, other: Box) -> Box:
        """Return what both have in common. It has no area if they have nothing."""
        return Box(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def around(self, other: Box) -> Box:
        """Return the smallest box around both."""
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    def holds(self, other: Box) -> bool:
        """Return whether the centre of another box is in this one."""
        across = (other.left + other.right) / 2
        return self.left <= across <= self.right and self.top <= other.middle <= self.bottom


@dataclass(frozen=True, slots=True)
class PagePlaces:
    """The part of a page that is shown, and how it is turned."""

    left: float
    bottom: float
    right: float
    top: float
    turns: int
    """Clockwise quarters."""
    flow: Flow = Flow.FROM_LEFT

    @classmethod
    def of(cls, page: Any, flow: Flow = Flow.FROM_LEFT) -> PagePlaces:
        left, bottom, right, top = page.get_bbox()
        return cls(left, bottom, right, top, page.get_rotation() // 90 % 4, flow)

    @property
    def whole(self) -> Box:
        return self.box(self.left, self.bottom, self.right, self.top)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a point of the file."""
        across, down = self._shown(x, y)
        if self.flow is Flow.FROM_LEFT:
            return across, down
        return (self._width - across, down) if self.flow is Flow.FROM_RIGHT else (down, self._width - across)

    @property
    def _width(self) -> float:
        return self.top - self.bottom if self.turns % 2 else self.right - self.left

    def _shown(self, x: float, y: float) -> tuple[float, float]:
        match self.turns:
            case 1:
                return y - self.bottom, x - self.left
            case 2:
                return self.right - x, y - self.bottom
            case 3:
                return self.top - y, self.right - x
        return x - self.left, self.top - y

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """Return the place of a rectangle of the file."""
        if not self.turns and self.flow is Flow.FROM_LEFT and left <= right and bottom <= top:  # as nearly always
            return Box(left - self.left, self.top - top, right - self.left, self.top - bottom)
        (x, y), (other_x, other_y) = self.point(left, bottom), self.point(right, top)
        return Box(min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y))
