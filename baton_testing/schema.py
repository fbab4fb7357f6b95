"""The JSON Schema of files of conversation tests, by which editors complete and check."""

from __future__ import annotations

from typing import Any

from baton_local.agent_schema import described_schema
from baton_testing.conversation_test import ConversationFile


def conversation_schema() -> dict[str, Any]:
    """Return the schema. Fields have the descriptions of their docstrings."""
    return described_schema(ConversationFile, "Conversation tests of Baton", by_alias=True)
