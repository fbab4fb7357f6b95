"""Docstrings of constants stand below what they document."""

from __future__ import annotations

import re

import pytest

from tests.unit.docs.pages import ROOT

CODE = (
    "baton_deployment",
    "baton_local",
    "baton_project",
    "baton_testing",
    "benchmarks",
    "examples",
    "functions",
    "shared",
    "tests",
)
BELOW_NOTHING = re.compile(r'(?:\n\n|\n *(?:from [^\n]+ )?import\b[^\n]*\n(?:(?: [^\n]*\n)+\)\n)?)"""[^\n]+')


@pytest.mark.parametrize("folder", CODE)
def test_no_docstring_has_lost_the_constant_that_it_documents(folder: str) -> None:
    # Linters take a text on a separate line for a comment.
    modules = list((ROOT / folder).rglob("*.py"))
    lost = {
        str(module.relative_to(ROOT)): match.group().strip()
        for module in modules
        for match in BELOW_NOTHING.finditer(module.read_text())
    }
    assert modules
    assert not lost


def test_a_docstring_below_nothing_is_seen() -> None:
    assert BELOW_NOTHING.search('from a import b\n\n"""Seconds."""\nC = 1\n')
    assert BELOW_NOTHING.search('\nfrom a import b\n"""Seconds."""\n')
    assert BELOW_NOTHING.search('\nfrom a import (\n    b,\n)\n"""Seconds."""\n')
    assert not BELOW_NOTHING.search('"""A module."""\n\nA = 1\n"""Seconds."""\n')
