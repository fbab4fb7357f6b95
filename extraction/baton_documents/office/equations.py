"""Equations of Office files (OMML, ISO/IEC 29500-1 section 22.1) as one line of text.

The notation is close to Unicode's technical note 28: ``a/b``, ``x^2``, ``x_i``, ``√(x+1)``, ``∑_(i=1)^n x_i``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from baton_documents.office.xml import qname, read_toggle
from baton_documents.text.symbol_fonts import decode_symbol, decode_symbols

_INVISIBLE = dict.fromkeys(map(ord, "\u2061\u2062\u2063\u2064"))
"""Invisible operators."""
_MATHEMATICAL_LETTERS = range(0x1D400, 0x1D800)
"""Letters in italics, bold and so on, which become plain letters."""
_ATOM = re.compile(r"[\w.,\u2032\u2033%°∞]*\w[\u0300-\u036f\u2032\u2033%°]*|∞|.", re.DOTALL)
_ROOTS = {"": "√", "2": "√", "3": "∛", "4": "∜"}
_OVER, _UNDER, _HAT = "\u0305", "\u0332", "\u0302"
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_LEFT_OUT = frozenset(map(qname, ("m:ctrlPr", "w:rPr", "m:rPr", "w:del", "w:moveFrom", "w:delText", "w:instrText")))


def write_equation(element: Any) -> str:
    """Return an equation (``m:oMath``) as text, or the equations of a paragraph (``m:oMathPara``), one a line."""
    if element.tag == qname("m:oMathPara"):
        return "\n".join(
            filter(None, (_write_content(equation).strip() for equation in element.iterfind(qname("m:oMath"))))
        )
    return _write_content(element).strip()


def _write_content(element: Any) -> str:
    """Return the text of an element's content."""
    parts = []
    for child in element:
        write = _WRITERS.get(child.tag)
        if _is_deleted(child):
            continue
        if write is not None:
            parts.append(write(child))
        elif child.tag == qname("w:sym"):
            parts.append(decode_symbol(child.get(qname("w:char"), ""), child.get(qname("w:font"))))
        elif child.tag in (qname("w:br"), qname("w:tab")):
            parts.append(" ")
        elif child.tag not in _LEFT_OUT and not child.tag.endswith("Pr"):
            parts.append(_write_content(child))
    return "".join(parts)


def _is_deleted(element: Any) -> bool:
    """Return whether a structure, such as a fraction, is marked as deleted together with its content."""
    properties = element[0] if len(element) else None
    control = properties.find(qname("m:ctrlPr")) if properties is not None and properties.tag.endswith("Pr") else None
    return control is not None and (
        control.find(qname("w:del")) is not None or control.find(f"{qname('w:rPr')}/{qname('w:del')}") is not None
    )


def _write_part(element: Any, name: str) -> str:
    """Return the text of an element's child; empty if it has no such child."""
    child = element.find(qname(name))
    return "" if child is None else _write_content(child).strip()


def _read_value(element: Any, path: str, default: str = "") -> str:
    """Return the value of the property at a path, such as ``m:dPr/m:begChr``, below an element."""
    child = element.find("/".join(map(qname, path.split("/"))))
    return default if child is None else str(child.get(qname("m:val"), default))


def _is_on(element: Any, path: str) -> bool:
    """Return whether the property at a path below an element is on. It is off if it is missing."""
    child = element.find("/".join(map(qname, path.split("/"))))
    return child is not None and child.get(qname("m:val"), "1") not in ("0", "off", "false")


def _enclose_operand(text: str) -> str:
    """Return a text as one operand: in brackets, unless it is a number or a name or has brackets already."""
    return text if not text or _ATOM.fullmatch(text) or _is_enclosed(text) else f"({text})"


def _is_enclosed(text: str) -> bool:
    """Return whether a text begins with a bracket that its last character closes."""
    if text[0] not in _BRACKETS or text[-1] != _BRACKETS[text[0]]:
        return False
    depth = 0
    for index, character in enumerate(text):
        depth += (character == text[0]) - (character == text[-1])
        if depth == 0:
            return index == len(text) - 1
    return False


def _write_script(mark: str, text: str) -> str:
    """Return a script after its mark, ``_`` or ``^``; empty without text."""
    return mark + _enclose_operand(text) if text else ""


def _write_text(element: Any) -> str:
    """Return the text of a run in plain letters."""
    text = (element.text or "").translate(_INVISIBLE)
    if any(ord(letter) in _MATHEMATICAL_LETTERS for letter in text):
        text = "".join(
            unicodedata.normalize("NFKC", letter) if ord(letter) in _MATHEMATICAL_LETTERS else letter for letter in text
        )
    return decode_symbols(text, _find_font(element))


def _find_font(element: Any) -> str | None:
    fonts = element.getparent().find(f"{qname('w:rPr')}/{qname('w:rFonts')}")
    return None if fonts is None else fonts.get(qname("w:ascii"))


def _write_run(element: Any) -> str:
    return "" if read_toggle(element.find(qname("w:rPr")), "w:vanish") else _write_content(element)


def _write_fraction(element: Any) -> str:
    above, below = _write_part(element, "m:num"), _write_part(element, "m:den")
    if _read_value(element, "m:fPr/m:type") == "noBar":
        return f"{_enclose_operand(above)}¦{_enclose_operand(below)}"
    return f"{_enclose_operand(above)}/{_enclose_operand(below)}"


def _write_scripts(element: Any) -> str:
    below, above = _write_part(element, "m:sub"), _write_part(element, "m:sup")
    return f"{_enclose_operand(_write_part(element, 'm:e'))}{_write_script('_', below)}{_write_script('^', above)}"


def _write_scripts_before(element: Any) -> str:
    below, above = _write_part(element, "m:sub"), _write_part(element, "m:sup")
    return f"({_write_script('_', below)}{_write_script('^', above)}){_write_part(element, 'm:e')}"


def _write_root(element: Any) -> str:
    degree = "" if _is_on(element, "m:radPr/m:degHide") else _write_part(element, "m:deg")
    inner = _write_part(element, "m:e")
    if degree in _ROOTS:
        return _ROOTS[degree] + _enclose_operand(inner)
    return f"root({degree}, {inner})"


def _write_repetition(element: Any) -> str:
    """Return a sum, product or integral, with its bounds."""
    sign = _read_value(element, "m:naryPr/m:chr", "∫")
    below = "" if _is_on(element, "m:naryPr/m:subHide") else _write_part(element, "m:sub")
    above = "" if _is_on(element, "m:naryPr/m:supHide") else _write_part(element, "m:sup")
    return f"{sign}{_write_script('_', below)}{_write_script('^', above)} {_write_part(element, 'm:e')}"


def _write_delimiters(element: Any) -> str:
    begin = _read_value(element, "m:dPr/m:begChr", "(")
    between = _read_value(element, "m:dPr/m:sepChr", "|")
    end = _read_value(element, "m:dPr/m:endChr", ")")
    return begin + between.join(_write_content(part).strip() for part in element.iterfind(qname("m:e"))) + end


def _write_matrix(element: Any) -> str:
    rows = (
        ", ".join(_write_content(cell).strip() for cell in row.iterfind(qname("m:e")))
        for row in element.iterfind(qname("m:mr"))
    )
    return f"[{'; '.join(rows)}]"


def _write_lines(element: Any) -> str:
    # Ampersands mark the places where lines are aligned.
    return "; ".join(_write_content(line).replace("&", "").strip() for line in element.iterfind(qname("m:e")))


def _write_function(element: Any) -> str:
    name, argument = _write_part(element, "m:fName"), _write_part(element, "m:e")
    return name + argument if argument.startswith("(") else f"{name} {argument}"


def _write_limit_below(element: Any) -> str:
    return _write_part(element, "m:e") + _write_script("_", _write_part(element, "m:lim"))


def _write_limit_above(element: Any) -> str:
    return _write_part(element, "m:e") + _write_script("^", _write_part(element, "m:lim"))


def _write_accent(element: Any) -> str:
    return _enclose_operand(_write_part(element, "m:e")) + _read_value(element, "m:accPr/m:chr", _HAT)


def _write_bar(element: Any) -> str:
    return _enclose_operand(_write_part(element, "m:e")) + (
        _OVER if _read_value(element, "m:barPr/m:pos") == "top" else _UNDER
    )


def _write_phantom(element: Any) -> str:
    """Return the text of a phantom, which may be invisible and only take space."""
    visibility = element.find(f"{qname('m:phantPr')}/{qname('m:show')}")
    is_hidden = visibility is not None and visibility.get(qname("m:val"), "1") in ("0", "off", "false")
    return "" if is_hidden else _write_part(element, "m:e")


def _write_alternative(element: Any) -> str:
    """Return the first alternative that has text."""
    return next(filter(None, map(_write_content, element)), "")


_WRITERS: dict[str, Callable[[Any], str]] = {
    qname(name): write
    for name, write in {
        "m:t": _write_text,
        "w:t": _write_text,
        "m:r": _write_run,
        "m:f": _write_fraction,
        "m:sSup": _write_scripts,
        "m:sSub": _write_scripts,
        "m:sSubSup": _write_scripts,
        "m:sPre": _write_scripts_before,
        "m:rad": _write_root,
        "m:nary": _write_repetition,
        "m:d": _write_delimiters,
        "m:m": _write_matrix,
        "m:eqArr": _write_lines,
        "m:func": _write_function,
        "m:limLow": _write_limit_below,
        "m:limUpp": _write_limit_above,
        "m:acc": _write_accent,
        "m:bar": _write_bar,
        "m:phant": _write_phantom,
        "mc:AlternateContent": _write_alternative,
    }.items()
}
