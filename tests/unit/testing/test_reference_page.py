"""The reference page has every field and option."""

from __future__ import annotations

import re

import pytest
import yaml
from pydantic import BaseModel
from typer.main import get_command

from baton_local.root import ROOT
from baton_testing.actions import EventStep, Meanwhile, PersonStep
from baton_testing.conversation_test import (
    Case,
    ConversationFile,
    ConversationTest,
    Expectation,
    ScriptedAnswer,
    Step,
    ToolStub,
    User,
)
from tests.unit.testing.command import APP

PAGE = (ROOT / "docs" / "reference" / "conversation-tests.md").read_text()
HOW_TO = (ROOT / "docs" / "how-to" / "test-conversations.md").read_text()


@pytest.mark.parametrize(
    "part",
    [
        Case,
        ConversationFile,
        ConversationTest,
        EventStep,
        Expectation,
        Meanwhile,
        PersonStep,
        ScriptedAnswer,
        Step,
        ToolStub,
        User,
    ],
)
def test_every_field_is_reported(part: type[BaseModel]) -> None:
    names = [field.alias or name for name, field in part.model_fields.items()]
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_every_option_is_reported() -> None:
    options = [opt for parameter in get_command(APP).params for opt in parameter.opts if opt.startswith("-")]
    assert [opt for opt in options if not re.search(rf"`{opt}[ `]", PAGE)] == []


def test_the_examples_are_files_that_can_be_read() -> None:
    examples = re.findall(r"^```yaml\n(.*?)^```$", HOW_TO, re.DOTALL | re.MULTILINE)
    assert len([ConversationFile.model_validate(yaml.safe_load(example)) for example in examples]) == 8
