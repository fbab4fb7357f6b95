"""The reference page has every field, check and option, and the examples of the guide can be read."""

from __future__ import annotations

import json
import re

import pytest
from pydantic import BaseModel
from typer.main import get_command

from baton_local.root import ROOT
from baton_project.evals import app
from baton_testing.actions import Action, EventStep, PersonStep
from baton_testing.evals.checks import TYPES, Check
from baton_testing.evals.dataset import EvalCase

PAGE = (ROOT / "docs" / "reference" / "evaluations.md").read_text()
HOW_TO = (ROOT / "docs" / "how-to" / "evaluate-agents.md").read_text()


@pytest.mark.parametrize("part", [EvalCase, Action, PersonStep, EventStep])
def test_every_field_is_listed(part: type[BaseModel]) -> None:
    names = [field.alias or name for name, field in part.model_fields.items()]
    assert [name for name in names if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("name", TYPES)
def test_every_check_is_listed_with_its_fields(name: str) -> None:
    [row] = re.findall(rf"^\| `{name}` \|.*$", PAGE, re.MULTILINE)
    own = [field.alias or key for key, field in TYPES[name].model_fields.items() if key not in Check.model_fields]
    assert [item for item in own if item != "type" and f"`{item}`" not in row] == []


def test_every_option_is_listed() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    options = [opt for command in commands.values() for parameter in command.params for opt in parameter.opts]
    assert [opt for opt in options if opt.startswith("--") and f"`{opt}`" not in PAGE] == []


def test_the_examples_of_the_guide_are_cases() -> None:
    blocks = re.findall(r"^```json\n(.*?)^```$", HOW_TO, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len([EvalCase.model_validate(json.loads(line)) for line in lines]) == 4
