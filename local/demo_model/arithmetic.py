"""Sums in a sentence."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

_WORDS = (
    (r"\bto the power of\b", "**"),
    (r"(\d)\s*%\s*of\b|(\d)\s+percent\s+of\b", r"\1\2/100*"),
    (r"\bplus\b", "+"),
    (r"\bminus\b", "-"),
    (r"\b(multiplied by|times)\b", "*"),
    (r"\bdivided by\b|÷|\bover\b", "/"),
    (r"\bsquared\b", "**2"),
    ("[\u00d7\u00b7]|(?<=\\d)\\s*x\\s*(?=\\d)", "*"),
    ("\u2212", "-"),
    (r"\^", "**"),
    (r"(?<=\d),(?=\d{3}\b)", ""),
)
_CHAT = re.compile(
    r"^\s*(?:(?:hi|hello|hey|please|and|ok|so|now|then)[\s,]+)*"
    r"(?:can you\s+)?(?:what(?:'s| is)|how much is|calculate|compute|evaluate|solve|work out|add up)?\s*[:\s]",
    re.IGNORECASE,
)
_SUM = re.compile(r"[\d\s.+\-*/()]+")
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A sum as it was written, and as it is computed."""

    shown: str
    python: str


def expression_in(text: str) -> Expression | None:
    """The sum that ``text`` asks for, or None if it asks for none."""
    shown = _CHAT.sub("", f" {text}").strip().rstrip("?=!. ").strip()
    python = shown
    for pattern, symbol in _WORDS:
        python = re.sub(pattern, symbol, python, flags=re.IGNORECASE)
    python = python.strip()
    if not _SUM.fullmatch(python) or not re.search(r"\d\s*\)*\s*[+\-*/]", python) or len(python) > 200:
        return None
    try:
        tree = ast.parse(python, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Expression(shown, python) if isinstance(tree.body, ast.BinOp) else None


def evaluate(python: str) -> float:
    """The value. Raises ``ZeroDivisionError``, ``ValueError`` and ``OverflowError`` (over 300 digits)."""
    return _value(ast.parse(python, mode="eval").body)


def formatted(value: float) -> str:
    """Whole numbers without a decimal point, others with at most ten significant digits."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return str(int(value))
    return f"{value:.10g}"


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and abs(node.value) < 1e100:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow) and (abs(right) > 300 or abs(left) > 1e10 or (left < 0 and right % 1)):
            raise ValueError(node)
        value = _OPERATORS[type(node.op)](left, right)
        if abs(value) > 1e300:
            raise OverflowError(node)
        return value
    raise ValueError(node)
