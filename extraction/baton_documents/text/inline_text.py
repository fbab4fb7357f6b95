"""Superscripts, subscripts and formulas as text."""

from __future__ import annotations

from typing import Any

_RAISED = str.maketrans("0123456789+-\u2212=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_ORDINAL_LETTERS = frozenset("aoe")
"""Letters that are raised after a digit or an n: 1o, 2e, No."""
_OPERATORS = frozenset("=+-\u2212\u00b1\u00d7\u00b7\u22c5\u00f7<>\u2264\u2265\u2260\u2248\u2261\u2192\u21d2\u2208")
"""Operators that are written with spaces around them."""
_NOT_SHOWN = frozenset({"annotation", "annotation-xml", "mphantom", "maligngroup", "malignmark", "script", "style"})
_EMPTY = frozenset({"\u2061", "\u2062", "\u2063", "\u2064"})
"""Invisible operators of functions, products, lists and sums."""


def mark_script(text: str, before: str, *, is_raised: bool) -> str:
    """Return ``text`` as a superscript or a subscript after ``before``, with the spaces around it."""
    inner = text.strip()
    if not inner:
        return text
    start = text.index(inner)
    mark = (write_superscript if is_raised else write_subscript)(inner, "" if start else before)
    return text[:start] + mark + text[start + len(inner) :]


def write_superscript(text: str, before: str) -> str:
    """Return a text as a superscript, which must not seem to belong to ``before``, the text that it follows."""
    text = text.strip()
    if not text:
        return ""
    if all(ord(letter) in _RAISED for letter in text):
        return text.translate(_RAISED)
    if text.isalpha() and (len(text) > 1 or (text in _ORDINAL_LETTERS and before[-1:] in tuple("0123456789nN"))):
        return text  # 1st, Mme
    if text.startswith("[") or not any(letter.isalnum() for letter in text):
        return text
    return f"^{text}" if text.isalnum() else f"^({text})"


def write_subscript(text: str, before: str) -> str:
    """Return a text as a subscript after ``before``. A number needs no sign unless a digit is before it: H2O, CO2."""
    text = text.strip()
    if not text or (text.isdigit() and not before[-1:].isdigit()) or not text[0].isalnum():
        return text
    return f"_{text}" if text.isalnum() else f"_({text})"


def read_formula(root: Any) -> str:
    """Return the text of a ``math`` element on one line."""
    ahead: list[tuple[Any, Any, list[str]]] = [(root, root.child, [])]
    while True:
        node, child, texts = ahead.pop()
        if child is None:
            text = _format_element(node.tag, texts)
            if not ahead:
                return " ".join(text.split())
            ahead[-1][2].append(text)
            continue
        ahead.append((node, child.next, texts))
        if child.tag == "-text":
            if node.tag not in ("math", "mrow", "semantics") or (child.text_content or "").strip():
                texts.append(" ".join((child.text_content or "").split()))
        elif child.tag not in _NOT_SHOWN and not (child.tag or "-").startswith("-") and child.tag != "!--":
            ahead.append((child, child.child, []))


def _format_element(tag: str, texts: list[str]) -> str:
    """Return the text of an element of MathML, given the texts of its content."""
    parts = [text for text in texts if text.strip()]
    first, second, third = (*parts, "", "", "")[:3]
    match tag:
        case "mo":
            operator = "".join(parts)
            return f" {operator} " if operator in _OPERATORS else "" if operator in _EMPTY else operator
        case "mfrac":
            return f"{_enclose(first)}/{_enclose(second)}"
        case "msup" | "mover":
            return first + (write_superscript(second, first) if second.isalnum() else f"^{_enclose(second)}")
        case "msub" | "munder":
            return f"{first}_{_enclose(second)}"
        case "msubsup" | "munderover":
            return f"{first}_{_enclose(second)}^{_enclose(third)}"
        case "msqrt":
            return f"\u221a({''.join(texts).strip()})"
        case "mroot":
            return f"{write_superscript(second, '')}\u221a({first.strip()})"
        case "mtr" | "mlabeledtr":
            return ", ".join(part.strip() for part in parts)
        case "mtable":
            return "; ".join(parts)
        case "mspace":
            return " "
    return "".join(texts)


def _enclose(text: str) -> str:
    """Return a text as one operand: in brackets unless it is a number, a name or a single character."""
    text = text.strip()
    return text if text.isalnum() or len(text) < 2 else f"({text})"
