"""Texts of the server name the fields of the settings document, not the variables that only the local cloud reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import baton
from baton.settings.document import DocumentVariables
from baton.settings.models import ModelVariables

PACKAGE = Path(baton.__file__).parent
VARIABLES = {
    str(field.validation_alias)
    for family in (DocumentVariables, ModelVariables)
    for field in family.model_fields.values()
}


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and value of each string, of docstrings and parts of f-strings too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_no_text_advises_a_variable_that_a_deployment_does_not_have() -> None:
    assert {"BATON_ALLOWED_HOSTS", "BATON_MODEL_PROVIDERS", "BATON_TOKEN_ISSUERS"} <= VARIABLES
    results = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent == PACKAGE / "settings":
            continue
        for line, text in texts(path.read_text()):
            named = sorted(name for name in VARIABLES if name in text)
            results += [f"{path.relative_to(PACKAGE)}:{line}: {name}" for name in named]
    assert results == []
