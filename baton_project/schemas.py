"""The JSON Schemas of conversation tests and of data sets, with which editors complete and check the files."""

from __future__ import annotations

from typing import Any

from baton_local.generation.agent_schema import describe_model
from baton_testing.conversation_test import ConversationFile
from baton_testing.evals.dataset import EvalCase


def make_conversation_schema() -> dict[str, Any]:
    """Return the schema of a file of conversation tests, with the fields' docstrings as descriptions."""
    return describe_model(ConversationFile, "Conversation tests of Baton", by_alias=True)


def make_case_schema() -> dict[str, Any]:
    """Return the schema of a case, with the fields' docstrings as descriptions."""
    return describe_model(EvalCase, "A case of an evaluation of Baton", by_alias=True)
