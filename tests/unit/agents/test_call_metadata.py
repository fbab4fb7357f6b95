"""The metadata of a request to a model stay within the limits of endpoints, whatever was recalled."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from baton.agents.prompts.call_metadata import make_call_metadata
from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.numbered_passages import Citation
from baton.domain.memory.found_item import FoundItem, ItemSource
from baton.memory.recalled import BlockKind, RecalledBlock, RecalledBlocks

AGENT = AgentDefinition(id="assistant", name="Assistant", description="Answers.", system_prompt="Answer.")


def make_recalled(title: str) -> RecalledBlocks:
    citation = Citation("d", title, "assistant", 1, "d#1", section=title)
    source = ItemSource(document_id="d", citation=citation)
    item = FoundItem("i", "chunk", title, "Rows. " * 200, datetime(2026, 3, 14, tzinfo=UTC), 0.9, source=source)
    return RecalledBlocks(knowledge=RecalledBlock(BlockKind.KNOWLEDGE, (item,)))


def test_the_text_of_a_recalled_item_is_cut_to_the_limit_of_a_value() -> None:
    value = make_call_metadata(AGENT, None, make_recalled("Plan"))["recalled.1"]
    assert value["text"].startswith("Rows.")
    assert len(json.dumps(value, ensure_ascii=False)) <= 480


def test_a_recalled_item_whose_title_leaves_no_room_has_no_text() -> None:
    assert make_call_metadata(AGENT, None, make_recalled("\x01" * 100))["recalled.1"]["text"] == ""
