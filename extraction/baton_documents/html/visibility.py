"""Visibility of elements of web pages, by their attributes and styles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

FAR = 500
"""The distance in pixels from which an element is moved out of the page, not only shifted on it."""
_NOISE = re.compile(r"/\*.*?(?:\*/|\Z)|!\s*important", re.DOTALL | re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))([a-z%]*)")
_PIXELS = {"px": 1.0, "pt": 4 / 3, "em": 16.0, "rem": 16.0, "vw": 12.0, "vh": 8.0, "cm": 37.8, "in": 96.0, "%": 8.0}
"""The approximate sizes of units in pixels. "%" is relative to a page's width."""
_CLIPPED = re.compile(r"rect\((?:[01](?:px)?[\s,]*){4}\)|inset\((?:50|100)%.*\)|circle\(0.*\)|polygon\(0 0\)")
_CLEAR = frozenset({"transparent", "rgba(0,0,0,0)", "#0000", "#00000000"})


COMPANIONS = frozenset({"position", "overflow", "animation", "animation-name"})
"""Properties that decide whether other properties hide an element, and for how long."""
_SHORTHANDS = {"background": "background-color", "overflow-y": "overflow"}
"""Properties that are read as other ones."""


@dataclass(slots=True)
class SheetStyle:
    """The declarations of style sheets for one element."""

    normal: dict[str, str] = field(default_factory=dict)
    important: dict[str, str] = field(default_factory=dict)


def is_hidden(attributes: Mapping[str, str | None], sheet: SheetStyle | None = None) -> bool:
    """Return whether an element and all its content is hidden."""
    # A search in the page shows an element that is hidden until it is found.
    if "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found":
        return True
    style = _merge_styles(attributes, sheet)
    return bool(style) and _hides(style)


def find_visibility(attributes: Mapping[str, str | None], sheet: SheetStyle | None = None) -> bool | None:
    """Return whether an element makes its text visible; None if it inherits the visibility. Its content may differ."""
    keyword = _merge_styles(attributes, sheet).get("visibility")
    return keyword not in ("hidden", "collapse") if keyword and keyword != "inherit" else None


def may_hide(style: Mapping[str, str]) -> bool:
    """Return whether declarations hide an element, alone or together with a position and an overflow."""
    if style.get("visibility") in ("hidden", "collapse"):
        return True
    return _hides({"position": "absolute", "overflow": "hidden", **style})


def _merge_styles(attributes: Mapping[str, str | None], sheet: SheetStyle | None) -> dict[str, str]:
    """Return the declarations for an element. An important one in its attribute raises the whole attribute."""
    inline = attributes.get("style")
    own = parse_declarations(inline) if inline else {}
    if sheet is None:
        return own
    if inline and "important" in inline.lower():
        return sheet.normal | sheet.important | own
    return sheet.normal | own | sheet.important


def parse_declarations(style: str) -> dict[str, str]:
    """Return the properties of an inline style, in lower case. The last of several equal ones counts."""
    values = {}
    for part in _NOISE.sub("", style).split(";"):
        name, _, value = _ESCAPE.sub(_unescape, part).partition(":")
        if value.strip():
            name = name.strip().lower()
            values[_SHORTHANDS.get(name, name)] = " ".join(value.lower().split())
    return values


def _unescape(match: re.Match[str]) -> str:
    if not match[1]:
        return match[2]
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0x110000 else "\ufffd"


def _hides(style: dict[str, str]) -> bool:
    """Return whether declarations hide an element and all its content."""
    if style.get("display") == "none" or style.get("content-visibility") == "hidden":
        return True
    if style.get("animation", style.get("animation-name", "none")) != "none":  # the animation shows the element
        return False
    if _is_zero(style.get("opacity")) or _is_zero(style.get("font-size")):
        return True
    if re.search(r"scale[xy]?\(0[,)]", style.get("transform", "")) or _is_zero(style.get("scale")):
        return True
    color = style.get("color", "").replace(" ", "")
    background = style.get("background-color", "").replace(" ", "")
    if color and (color in _CLEAR or color == background):
        return True
    return _is_moved_away(style) or _is_clipped(style)


def _is_moved_away(style: dict[str, str]) -> bool:
    """Return whether declarations move an element out of the page."""
    moves = ("left", "top", "right", "bottom") if style.get("position") in ("absolute", "fixed", "relative") else ()
    far = (parse_pixels(style.get(name)) for name in (*moves, "text-indent", "margin-left", "margin-top"))
    if any(offset is not None and offset <= -FAR for offset in far):
        return True
    moved = re.findall(r"translate[xy3d]*\(([^)]*)\)", style.get("transform", ""))
    shifts = [parse_pixels(shift.strip()) for part in moved for shift in part.split(",")]
    return any(shift is not None and shift <= -FAR for shift in shifts)


def _is_clipped(style: dict[str, str]) -> bool:
    """Return whether declarations leave at most a pixel of an element."""
    if _CLIPPED.search(style.get("clip", "")) or _CLIPPED.search(style.get("clip-path", "")):
        return True
    if style.get("overflow") not in ("hidden", "clip"):
        return False
    return any(
        size is not None and size <= 1
        for size in (parse_pixels(style.get(name)) for name in ("height", "max-height", "width", "max-width"))
    )


def _is_zero(value: str | None) -> bool:
    match = _NUMBER.fullmatch(value or "")
    return match is not None and float(match[1]) == 0


def parse_pixels(value: str | None) -> float | None:
    """Return the approximate pixels of a length; None if the value is not a length. Unknown units count as pixels."""
    match = _NUMBER.fullmatch(value or "")
    return float(match[1]) * _PIXELS.get(match[2], 1.0) if match else None
