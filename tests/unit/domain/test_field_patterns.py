"""The patterns that pydantic checks are quick to compile, because every cold start compiles all of them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from baton_local.root import ROOT

COUNTED_CLASS = re.compile(r"\\[wdsWDSpP](?:\{[A-Z]\w*\})?(?:[^\[\]]*\])?\{\d+,?\d*\}")
"""A class of Unicode characters that is repeated a counted number of times. ``\\w{1,200}`` takes 0.1 s to compile."""


def patterns(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the constant text of every argument ``pattern=`` in a file."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.keyword) and node.arg == "pattern":
            constants = (part for part in ast.walk(node.value) if isinstance(part, ast.Constant))
            yield node.value.lineno, "".join(str(part.value) for part in constants)


def test_no_pattern_counts_characters_of_a_unicode_class() -> None:
    results = {
        f"{file.relative_to(ROOT)}:{line}": text
        for folder in ("shared", "baton_local", "baton_testing", "baton_project", "clients/python")
        for file in (ROOT / folder).rglob("*.py")
        for line, text in patterns(file)
    }
    assert len(results) > 10
    assert {location: text for location, text in results.items() if COUNTED_CLASS.search(text)} == {}


@pytest.mark.parametrize("text", [r"^[\w/+=.@{}-]{1,200}$", r"\w{1,64}", r"\d{4}", r"[a\s]{2,}", r"\p{Lu}{1,9}"])
def test_a_counted_class_is_found(text: str) -> None:
    assert COUNTED_CLASS.search(text)


@pytest.mark.parametrize("text", [r"^[A-Za-z0-9_-]{1,200}$", r"^\w+$", r"^[a-zA-Z_]\w*:[a-zA-Z_]\w*$"])
def test_other_patterns_are_none(text: str) -> None:
    assert not COUNTED_CLASS.search(text)
