"""The texts of form controls and the numbers of list items, as a web page shows them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CHECKED, UNCHECKED = "\u2611", "\u2610"
"""The marks of checkboxes and radio buttons: ☑ and ☐."""
_WITHOUT_TEXT = frozenset(["hidden", "password", "file", "submit", "image", "reset", "button", "color", "range"])
"""Types of inputs whose value is not shown as text."""
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_MAX_ROMAN = 3_999
_INTEGER = re.compile(r"\s*([-+]?[0-9]{1,9})(?![0-9])")


def read_input(attributes: Mapping[str, str | None]) -> str:
    """Return the visible value of an input, or the mark of a checkbox or radio button; empty if it shows no text."""
    kind = (attributes.get("type") or "text").strip().lower()
    if kind in ("checkbox", "radio"):
        return CHECKED if "checked" in attributes else UNCHECKED
    return "" if kind in _WITHOUT_TEXT else attributes.get("value") or ""


def find_box_mark(tag: str, attributes: Mapping[str, str | None]) -> str:
    """Return the mark of an element that acts as a checkbox, or of a task in Confluence; empty for other elements."""
    if attributes.get("role") in ("checkbox", "menuitemcheckbox", "radio", "switch"):
        return CHECKED if (attributes.get("aria-checked") or "").lower() == "true" else UNCHECKED
    if tag == "li" and "data-inline-task-id" in attributes:
        return CHECKED if "checked" in (attributes.get("class") or "").split() else UNCHECKED
    return ""


def read_selection(select: Any) -> str:
    """Return the selected options, joined with commas; by default the first enabled option of a list that shows one."""
    options = select.css("option")
    chosen = [option for option in options if "selected" in option.attributes]
    shows_one = "multiple" not in select.attributes and (select.attributes.get("size") or "1").strip() in ("0", "1")
    if shows_one:
        chosen = chosen[-1:] or next(([option] for option in options if "disabled" not in option.attributes), [])
    return ", ".join(filter(None, (" ".join(_read_label(option).split()) for option in chosen)))


def _read_label(option: Any) -> str:
    return str(option.attributes.get("label") or option.text())


@dataclass(slots=True)
class ListNumbers:
    """The numbers of one list's items."""

    kind: str | None
    """The ``type`` of the list: "1", "a", "A", "i" or "I"; None for a list without numbers."""
    next: int = 1
    """The number of the next item."""
    step: int = 1
    """1, or -1 in a list that counts down."""

    @classmethod
    def of(cls, node: Any) -> ListNumbers:
        """Return the numbers of the list ``node``, before its first item."""
        attributes = node.attributes
        style = (attributes.get("style") or "").replace(" ", "").lower()
        if node.tag != "ol" or "list-style:none" in style or "list-style-type:none" in style:
            return cls(None)
        kind = (attributes.get("type") or "1").strip()
        is_reversed = "reversed" in attributes
        first = _parse_integer(attributes.get("start"))
        if first is None:
            first = _count_items(node) if is_reversed else 1
        return cls(kind if kind in ("1", "a", "A", "i", "I") else "1", first, -1 if is_reversed else 1)

    def take(self, value: str | None) -> str:
        """Return the mark of the next item, whose ``value`` attribute may set its number; empty without numbers."""
        if self.kind is None:
            return ""
        number = _parse_integer(value)
        number = self.next if number is None else number
        self.next = number + self.step
        return f"{_format_number(number, self.kind)}. "


def _count_items(node: Any) -> int:
    child, count = node.child, 0
    while child is not None:
        count += child.tag == "li"
        child = child.next
    return count


def _parse_integer(value: str | None) -> int | None:
    match = _INTEGER.match(value or "")
    return int(match[1]) if match else None


def _format_number(number: int, kind: str) -> str:
    """Return a number in the ``kind`` of a list; in digits if letters or Roman numerals cannot express it."""
    if kind in "aA" and number > 0:
        letters = ""
        while number:
            number, rest = divmod(number - 1, 26)
            letters = chr(ord("a") + rest) + letters
        return letters if kind == "a" else letters.upper()
    if kind in "iI" and 0 < number <= _MAX_ROMAN:
        roman = ""
        for value, letter in _ROMAN:
            roman += letter * (number // value)
            number %= value
        return roman if kind == "i" else roman.upper()
    return str(number)
