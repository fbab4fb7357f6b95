"""The order of reading of lines in which writing runs in both directions, from the places of their letters.

A file places each letter where it is seen. The bidirectional algorithm (UAX #9) computes these places from the order
of reading; this module reverses it. Given the direction of a line, and without marks that embed other directions, the
places allow one or two orders: a number next to a word of the other direction may have been written before or after
the word. The caller then decides, from further knowledge of the page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

_RIGHT = ("R", "AL")
_DIGITS = ("EN", "AN")
_STRONG = ("L", *_RIGHT, *_DIGITS)
_JOINTS = {"EN": ("CS", "ES"), "AN": ("CS",)}
"""Classes of signs that join digits of each class if one sign is between two digits."""
_SIDES = (
    *(("LEFT", "RIGHT"), ("LESS", "GREATER"), ("SUBSET", "SUPERSET"), ("PRECEDES", "SUCCEEDS")),
    *(("ELEMENT OF", "CONTAINS AS MEMBER"), ("NORMAL SUBGROUP OF", "CONTAINS AS NORMAL SUBGROUP")),
)
"""Parts of the names of characters that mirror each other."""
_TELEPHONE = 7
"""The fewest digits of a telephone number."""
Chooser = Callable[[int, int], bool]
"""A function of the index where a word begins and the index where a number begins to its right. It returns whether the
word is read first."""


def mirror(text: str) -> str:
    """Return a text with mirrored brackets, as they are seen if the text runs from the right."""
    return "".join(map(_mirror_character, text))


@cache
def _mirror_character(char: str) -> str:
    """Return the character that mirrors a character; the character itself without one."""
    if not unicodedata.mirrored(char):
        return char
    name = unicodedata.name(char, "")
    for near, far in _SIDES:
        for side, across in ((near, far), (far, near)):
            if re.search(rf"\b{side}\b", name):
                try:
                    return unicodedata.lookup(re.sub(rf"\b{side}\b", across, name))
                except KeyError:
                    return char
    return char


@lru_cache(4096)
def find_direction(text: str) -> str:
    """Return the bidirectional class of the first character of a text that is not a mark; "ON" without one."""
    return next((kind for char in text if (kind := unicodedata.bidirectional(char)) not in ("NSM", "BN", "")), "ON")


def find_reading_order(items: Sequence[str], *, is_from_right: bool, is_word_first: Chooser) -> list[tuple[int, bool]]:
    """Return the indexes of a line's items, which are given from left to right, in the order of reading.

    An index has a flag that is True if the item runs from the right, so that brackets must be mirrored.
    """
    order = _order_from_right if is_from_right else _order_from_left
    return list(order(items, [find_direction(item) for item in items], 0, len(items), is_word_first))


def _order_from_left(
    items: Sequence[str], classes: Sequence[str], start: int, end: int, is_word_first: Chooser
) -> Iterator[tuple[int, bool]]:
    """Yield the items of a line from the left in the order of reading, in the form of ``find_reading_order``."""
    position = start
    for first, last in _find_ranges_from_right(items, classes, start, end):
        yield from ((index, False) for index in range(position, first))
        yield from _order_from_right(items, classes, first, last, is_word_first)
        position = last
    yield from ((index, False) for index in range(position, end))


def _find_ranges_from_right(
    items: Sequence[str], classes: Sequence[str], start: int, end: int
) -> Iterator[tuple[int, int]]:
    """Yield ranges of items from the right. A range ends after the last letter before a letter from the left."""
    position = start
    while position < end:
        if classes[position] not in _RIGHT:
            position += 1
            continue
        stop = next((index for index in range(position, end) if classes[index] == "L"), end)
        last = max(index for index in range(position, stop) if classes[index] in _RIGHT) + 1
        closed = _find_unpaired(reversed(items[position:last]), "Pe")
        while closed and position > start and items[position - 1] == mirror(closed[-1]):
            closed.pop()
            position -= 1
        yield position, last
        position = last


def _find_unpaired(items: Iterable[str], opening: str) -> list[str]:
    """Return the brackets of the category ``opening`` that no bracket closes, in their order."""
    brackets: list[str] = []
    for item in items:
        if unicodedata.category(item[0]) == opening:
            brackets.append(item)
        elif brackets and item == mirror(brackets[-1]):
            brackets.pop()
    return brackets


def _order_from_right(
    items: Sequence[str], classes: Sequence[str], start: int, end: int, is_word_first: Chooser
) -> Iterator[tuple[int, bool]]:
    """Yield the items of a line or range from the right in the order of reading."""
    runs_left = _find_runs_from_left(items, classes, start, end, is_word_first)
    _add_brackets(items, runs_left, start)
    position = end
    while position > start:
        position -= 1
        if not runs_left[position - start]:
            yield position, True
            continue
        last = position + 1
        while position > start and runs_left[position - 1 - start]:
            position -= 1
        yield from ((index, False) for index in range(position, last))


def find_inside_from_left(items: Sequence[str]) -> list[bool]:
    """Return for each item of a line whether the nearest letters on both sides run from the left."""
    classes = [find_direction(item) for item in items]
    sides = []
    for step in (1, -1):
        letters, side = "", []
        for class_ in classes[::step]:
            letters = class_ if class_ in ("L", *_RIGHT) else letters
            side.append(letters == "L")
        sides.append(side[::step])
    return [before and after for before, after in zip(*sides, strict=True)]


def compare_pairs(brackets: Sequence[tuple[str, bool]]) -> int:
    """Return the number of pairs that brackets form as they are seen, less the number of pairs if they are mirrored.

    A bracket has a flag that is True if it is known to be as it is read.
    """
    seen = [mirror(bracket) if is_as_read else bracket for bracket, is_as_read in brackets]
    turned = [mirror(bracket) for bracket, _ in brackets]
    return _count_pairs(seen) - _count_pairs(turned)


def _count_pairs(brackets: Sequence[str]) -> int:
    """Return the number of pairs of brackets, which may be nested."""
    count, opened = 0, list[str]()
    for bracket in brackets:
        if unicodedata.category(bracket[0]) in ("Ps", "Pi"):
            opened.append(mirror(bracket))
        elif opened and bracket == opened[-1]:
            opened.pop()
            count += 1
    return count


def _add_brackets(items: Sequence[str], runs_left: list[bool], start: int) -> None:
    """Add to runs from the left the brackets that close brackets in them."""
    opened: list[str] = []
    for index, is_left in enumerate(runs_left):
        item = items[start + index]
        if not is_left and not (opened and item == mirror(opened[-1])):
            opened = []
            continue
        runs_left[index] = True
        if unicodedata.category(item[0]) == "Ps":
            opened.append(item)
        elif opened and item == mirror(opened[-1]):
            opened.pop()


def _find_runs_from_left(
    items: Sequence[str], classes: Sequence[str], start: int, end: int, is_word_first: Chooser
) -> list[bool]:
    """Return for each item of a line from the right whether it runs from the left."""
    runs = [class_ == "L" or class_ in _DIGITS for class_ in classes[start:end]]
    strong = [position for position in range(start, end) if classes[position] in _STRONG]
    digits = _classify_digits(classes, start, end)
    for position in strong:  # signs beside numbers
        if digits.get(position) == "EN":
            for step in (-1, 1):
                sign = position + step
                while start <= sign < end and classes[sign] == "ET":
                    runs[sign - start] = True
                    sign += step
    run, letter = start, start - 1  # the beginning of the last run, and the last letter from the left
    for before, after in pairwise(strong):
        first, second = classes[before], classes[after]
        letter = before if first == "L" else letter
        if first in _RIGHT or second in _RIGHT:
            run = after
            continue
        between = [position for position in range(before + 1, after) if not runs[position - start]]
        if not between:
            continue
        if "AN" in (first, second) or (letter < run and second != "L"):
            is_joined = letter < run and _is_number(classes, before, after, digits)
        elif first == "L" and second == "EN" and "WS" in classes[before:after]:
            is_joined = is_word_first(run, after)
        else:  # no other order places a number to the left of a word
            is_joined = True
        for position in between if is_joined else ():
            runs[position - start] = True
        if not is_joined:
            run = after
    _add_plus(items, runs, start)
    return runs


def _add_plus(items: Sequence[str], runs_left: list[bool], start: int) -> None:
    """Add the plus sign before telephone numbers to them. In other numbers, ``50+`` is seen as ``+50``."""
    count = 0  # of digits in the run after a place
    for position in reversed(range(len(runs_left))):
        item = items[start + position]
        if runs_left[position]:
            count += item.isdigit()
            continue
        if item == "+":
            runs_left[position] = count >= _TELEPHONE
        count = 0


def _is_number(classes: Sequence[str], before: int, after: int, digits: dict[int, str]) -> bool:
    """Return whether two digits with one sign between them belong to one number."""
    kind = digits.get(before)
    return kind == digits.get(after) and after - before == 2 and classes[before + 1] in _JOINTS.get(kind or "", ())


def _classify_digits(classes: Sequence[str], start: int, end: int) -> dict[int, str]:
    """Return the classes of digits by their indexes. After Arabic letters, all digits are Arabic ones."""
    digits: dict[int, str] = {}
    letters = "R"
    for index in range(end - 1, start - 1, -1):
        if classes[index] in ("L", *_RIGHT):
            letters = classes[index]
        elif classes[index] in _DIGITS:
            digits[index] = "AN" if letters == "AL" else classes[index]
    return digits
