"""Equations of Office files (OMML, ISO/IEC 29500-1 section 22.1) as one line of text.

The notation is close to Unicode's technical note 28: ``a/b``, ``x^2``, ``x_i``, ``√(x+1)``, ``∑_(i=1)^n x_i``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from baton_documents.office.xml import qname, toggle
from baton_documents.text.symbol_fonts import symbol, symbols

_INVISIBLE = dict.fromkeys(map(ord, "\u2061\u2062\u2063\u2064"))
"""Invisible operators."""
_MATHEMATICAL_LETTERS = range(0x1D400, 0x1D800)
"""Letters in italics, bold and so on, which become plain letters."""
_ATOM = re.compile(r"[\w.,\u2032\u2033%°∞]*\w[\u0300-\u036f\u2032\u2033%°]*|∞|.", re.DOTALL)
_ROOTS = {"": "√", "2": "√", "3": "∛", "4": "∜"}
_OVER, _UNDER, _HAT = "\u0305", "\u0332", "\u0302"
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_LEFT_OUT = frozenset(map(qname, ("m:ctrlPr", "w:rPr", "m:rPr", "w:del", "w:moveFrom", "w:delText", "w:instrText")))


def equation_text(element: Any) -> str:
    """Return an equation (``m:oMath``) as text, or the equations of a paragraph (``m:oMathPara``), one a line."""
    if element.tag == qname("m:oMathPara"):
        return "\n".join(filter(None, (_linear(equation).strip() for equation in element.iterfind(qname("m:oMath")))))
    return _linear(element).strip()


def _linear(element: Any) -> str:
    """Return the text of an element's content."""
    parts = []
    for child in element:
        form = _FORMS.get(child.tag)
        if _is_deleted(child):
            continue
        if form is not None:
            parts.append(form(child))
        elif child.tag == qname("w:sym"):
            parts.append(symbol(child.get(qname("w:char"), ""), child.get(qname("w:font"))))
        elif child.tag in (qname("w:br"), qname("w:tab")):
            parts.append(" ")
        elif child.tag not in _LEFT_OUT and not child.tag.endswith("Pr"):
            parts.append(_linear(child))
    return "".join(parts)


def _is_deleted(element: Any) -> bool:
    """Return whether a structure, such as a fraction, is marked as deleted together with its content."""
    properties = element[0] if len(element) else None
    control = properties.find(qname("m:ctrlPr")) if properties is not None and properties.tag.endswith("Pr") else None
    return control is not None and (
        control.find(qname("w:del")) is not None or control.find(f"{qname('w:rPr')}/{qname('w:del')}") is not None
    )


def _part(element: Any, name: str) -> str:
    child = element.find(qname(name))
    return "" if child is None else _linear(child).strip()


def _value(element: Any, path: str, default: str = "") -> str:
    child = element.find("/".join(map(qname, path.split("/"))))
    return default if child is None else str(child.get(qname("m:val"), default))


def _is_on(element: Any, path: str) -> bool:
    child = element.find("/".join(map(qname, path.split("/"))))
    return child is not None and child.get(qname("m:val"), "1") not in ("0", "off", "false")


def _group(text: str) -> str:
    """Return a text as one operand: in brackets, unless it is a number or a name or has brackets already."""
    return text if not text or _ATOM.fullmatch(text) or _is_enclosed(text) else f"({text})"


def _is_enclosed(text: str) -> bool:
    if text[0] not in _BRACKETS or text[-1] != _BRACKETS[text[0]]:
        return False
    depth = 0
    for index, character in enumerate(text):
        depth += (character == text[0]) - (character == text[-1])
        if depth == 0:
            return index == len(text) - 1
    return False


def _script(mark: str, text: str) -> str:
    return mark + _group(text) if text else ""


def _text(element: Any) -> str:
    text = (element.text or "").translate(_INVISIBLE)
    if any(ord(letter) in _MATHEMATICAL_LETTERS for letter in text):
        text = "".join(
            unicodedata.normalize("NFKC", letter) if ord(letter) in _MATHEMATICAL_LETTERS else letter for letter in text
        )
    return symbols(text, _font(element))


def _font(element: Any) -> str | None:
    fonts = element.getparent().find(f"{qname('w:rPr')}/{qname('w:rFonts')}")
    return None if fonts is None else fonts.get(qname("w:ascii"))


def _run(element: Any) -> str:
    return "" if toggle(element.find(qname("w:rPr")), "w:vanish") else _linear(element)


def _fraction(element: Any) -> str:
    above, below = _part(element, "m:num"), _part(element, "m:den")
    if _value(element, "m:fPr/m:type") == "noBar":
        return f"{_group(above)}¦{_group(below)}"
    return f"{_group(above)}/{_group(below)}"


def _scripts(element: Any) -> str:
    below, above = _part(element, "m:sub"), _part(element, "m:sup")
    return f"{_group(_part(element, 'm:e'))}{_script('_', below)}{_script('^', above)}"


def _scripts_before(element: Any) -> str:
    below, above = _part(element, "m:sub"), _part(element, "m:sup")
    return f"({_script('_', below)}{_script('^', above)}){_part(element, 'm:e')}"


def _root(element: Any) -> str:
    degree = "" if _is_on(element, "m:radPr/m:degHide") else _part(element, "m:deg")
    inner = _part(element, "m:e")
    if degree in _ROOTS:
        return _ROOTS[degree] + _group(inner)
    return f"root({degree}, {inner})"


def _repeated(element: Any) -> str:
    """Return a sum, product or integral."""
    sign = _value(element, "m:naryPr/m:chr", "∫")
    below = "" if _is_on(element, "m:naryPr/m:subHide") else _part(element, "m:sub")
    above = "" if _is_on(element, "m:naryPr/m:supHide") else _part(element, "m:sup")
    return f"{sign}{_script('_', below)}{_script('^', above)} {_part(element, 'm:e')}"


def _delimit(element: Any) -> str:
    begin = _value(element, "m:dPr/m:begChr", "(")
    between = _value(element, "m:dPr/m:sepChr", "|")
    end = _value(element, "m:dPr/m:endChr", ")")
    return begin + between.join(_linear(part).strip() for part in element.iterfind(qname("m:e"))) + end


def _matrix(element: Any) -> str:
    rows = (
        ", ".join(_linear(cell).strip() for cell in row.iterfind(qname("m:e")))
        for row in element.iterfind(qname("m:mr"))
    )
    return f"[{'; '.join(rows)}]"


def _lines(element: Any) -> str:
    # Ampersands mark the places where lines are aligned.
    return "; ".join(_linear(line).replace("&", "").strip() for line in element.iterfind(qname("m:e")))


def _function(element: Any) -> str:
    name, argument = _part(element, "m:fName"), _part(element, "m:e")
    return name + argument if argument.startswith("(") else f"{name} {argument}"


def _limit_below(element: Any) -> str:
    return _part(element, "m:e") + _script("_", _part(element, "m:lim"))


def _limit_above(element: Any) -> str:
    return _part(element, "m:e") + _script("^", _part(element, "m:lim"))


def _accented(element: Any) -> str:
    return _group(_part(element, "m:e")) + _value(element, "m:accPr/m:chr", _HAT)


def _barred(element: Any) -> str:
    return _group(_part(element, "m:e")) + (_OVER if _value(element, "m:barPr/m:pos") == "top" else _UNDER)


def _phantom(element: Any) -> str:
    """Return the text of a phantom, which may be invisible and only take space."""
    visibility = element.find(f"{qname('m:phantPr')}/{qname('m:show')}")
    is_hidden = visibility is not None and visibility.get(qname("m:val"), "1") in ("0", "off", "false")
    return "" if is_hidden else _part(element, "m:e")


def _alternatives(element: Any) -> str:
    return next(filter(None, map(_linear, element)), "")


_FORMS: dict[str, Callable[[Any], str]] = {
    qname(name): form
    for name, form in {
        "m:t": _text,
        "w:t": _text,
        "m:r": _run,
        "m:f": _fraction,
        "m:sSup": _scripts,
        "m:sSub": _scripts,
        "m:sSubSup": _scripts,
        "m:sPre": _scripts_before,
        "m:rad": _root,
        "m:nary": _repeated,
        "m:d": _delimit,
        "m:m": _matrix,
        "m:eqArr": _lines,
        "m:func": _function,
        "m:limLow": _limit_below,
        "m:limUpp": _limit_above,
        "m:acc": _accented,
        "m:bar": _barred,
        "m:phant": _phantom,
        "mc:AlternateContent": _alternatives,
    }.items()
}
