"""Elements of web pages that a reader does not see, by their attributes and inline styles."""

from __future__ import annotations

import re
from collections.abc import Mapping

FAR = 500
"""Pixels from which on something is moved out of the page, and not only shifted on it."""
_NOISE = re.compile(r"/\*.*?(?:\*/|\Z)|!\s*important", re.DOTALL | re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))([a-z%]*)")
_PIXELS = {"px": 1.0, "pt": 4 / 3, "em": 16.0, "rem": 16.0, "vw": 12.0, "vh": 8.0, "cm": 37.8, "in": 96.0, "%": 8.0}
"""About how large a unit is. That of "%" is a share of a page's width."""
_CLIPPED = re.compile(r"rect\((?:[01](?:px)?[\s,]*){4}\)|inset\((?:50|100)%.*\)|circle\(0.*\)|polygon\(0 0\)")
_CLEAR = frozenset({"transparent", "rgba(0,0,0,0)", "#0000", "#00000000"})


def is_hidden(attributes: Mapping[str, str | None]) -> bool:
    """Return whether an element and all that is in it is not shown."""
    if "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found":  # found means opened
        return True
    style = attributes.get("style")
    return bool(style) and _hides(declarations(style or ""))


def visibility(attributes: Mapping[str, str | None]) -> bool | None:
    """Return whether an element's text is shown, None if it says nothing. Elements in it may say otherwise."""
    style = attributes.get("style")
    found = declarations(style).get("visibility") if style else None
    return found not in ("hidden", "collapse") if found and found != "inherit" else None


def declarations(style: str) -> dict[str, str]:
    """Return the properties of an inline style, in lower case. Of several equal ones the last holds."""
    found = {}
    for each in _NOISE.sub("", style).split(";"):
        name, _, value = _ESCAPE.sub(_unescaped, each).partition(":")
        if value.strip():
            found[name.strip().lower()] = " ".join(value.lower().split())
    return found


def _unescaped(found: re.Match[str]) -> str:
    if not found[1]:
        return found[2]
    code = int(found[1], 16)
    return chr(code) if 0 < code < 0x110000 else "\ufffd"


def _hides(style: dict[str, str]) -> bool:
    if style.get("display") == "none" or style.get("content-visibility") == "hidden":
        return True
    if _is_zero(style.get("opacity")) or _is_zero(style.get("font-size")):
        return True
    if re.search(r"scale[xy]?\(0[,)]", style.get("transform", "")) or _is_zero(style.get("scale")):
        return True
    color = style.get("color", "").replace(" ", "")
    background = style.get("background-color", style.get("background", "")).replace(" ", "")
    if color and (color in _CLEAR or color == background):
        return True
    return _is_away(style) or _is_cut(style)


def _is_away(style: dict[str, str]) -> bool:
    moves = ("left", "top", "right", "bottom") if style.get("position") in ("absolute", "fixed", "relative") else ()
    far = (_pixels(style.get(name)) for name in (*moves, "text-indent", "margin-left", "margin-top"))
    if any(each is not None and each <= -FAR for each in far):
        return True
    moved = re.findall(r"translate[xy3d]*\(([^)]*)\)", style.get("transform", ""))
    shifts = [_pixels(each.strip()) for part in moved for each in part.split(",")]
    return any(each is not None and each <= -FAR for each in shifts)


def _is_cut(style: dict[str, str]) -> bool:
    if _CLIPPED.search(style.get("clip", "")) or _CLIPPED.search(style.get("clip-path", "")):
        return True
    if style.get("overflow", style.get("overflow-y", "")) not in ("hidden", "clip"):
        return False
    return any(
        size is not None and size <= 1
        for size in (_pixels(style.get(name)) for name in ("height", "max-height", "width", "max-width"))
    )


def _is_zero(value: str | None) -> bool:
    found = _NUMBER.fullmatch(value or "")
    return found is not None and float(found[1]) == 0


def _pixels(value: str | None) -> float | None:
    found = _NUMBER.fullmatch(value or "")
    return float(found[1]) * _PIXELS.get(found[2], 1.0) if found else None
