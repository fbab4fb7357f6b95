"""The metadata of a request to a model: the agent that asks, recalled items, and the state of the workflow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.memory.found_item import FoundItem
from baton.domain.threads.running_conversation import RunningConversation
from baton.memory.episodes.episode_index import MESSAGE
from baton.memory.recalled import NOTHING_RECALLED, RecalledBlocks

MAX_RECALLED = 5
"""The best recalled items that a request names. Endpoints limit metadata to 16 values."""
MAX_RECALLED_IN_WORKFLOW = 3
"""The same within a workflow, whose data are values too."""
MAX_SECTION_CHARS = 80
"""Characters of the headings above a chunk. The outer headings are cut first."""
MAX_SOURCE_CHARS = 80
"""Characters of the title of an item's source."""
MAX_RECALLED_CHARS = 480
"""Characters of the JSON of one recalled item. Endpoints limit a value to 512 characters."""


def make_call_metadata(
    agent: AgentDefinition, conversation: RunningConversation | None, recalled: RecalledBlocks = NOTHING_RECALLED
) -> dict[str, Any]:
    """Return the metadata: flat names with JSON values. ``conversation`` is None for a consulted agent."""
    metadata: dict[str, Any] = {"agent": agent.id}
    if recalled.procedures:
        draft = recalled.procedures[0].draft
        metadata |= {"skill.name": draft.name, "skill.steps": [step.text for step in draft.steps]}
    is_in_workflow = conversation is not None and conversation.workflow is not None
    metadata |= dict(_list_recalled(recalled, MAX_RECALLED_IN_WORKFLOW if is_in_workflow else MAX_RECALLED))
    if conversation is None:
        return metadata
    if conversation.resumable:
        metadata["unfinished"] = {workflow.id: workflow.name for workflow in conversation.resumable}
    workflow = conversation.workflow
    if workflow is not None:
        metadata |= {"workflow.id": workflow.id, "workflow.name": workflow.name, "workflow.state": workflow.state}
        if workflow.result is not None:
            metadata["workflow.result"] = workflow.result
        for fields in workflow.data.values():
            metadata |= {f"workflow.data.{name}": value for name, value in fields.items()}
    return metadata


def _list_recalled(recalled: RecalledBlocks, limit: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names and fields of the best recalled items, best first. Messages of the same day have their time."""
    items = [item for block in (recalled.knowledge, recalled.episodes) for item in block.included]
    best = sorted(items, key=lambda item: -item.score)[:limit]
    days = Counter(_format_day(item) for item in best)
    for number, item in enumerate(best, start=1):
        yield f"recalled.{number}", _make_fields(item, has_time=item.kind == MESSAGE and days[_format_day(item)] > 1)


def _format_day(item: FoundItem) -> str:
    return (item.day or item.at.date()).isoformat()


def _make_fields(item: FoundItem, *, has_time: bool) -> dict[str, Any]:
    """Return the fields of an item, with as much of its text as fits ``MAX_RECALLED_CHARS``; perhaps none."""
    fields: dict[str, Any] = {
        "kind": item.kind,
        "date": _format_day(item),
        "source": item.title[:MAX_SOURCE_CHARS],
        "role": item.role,
        "text": "",
    }
    if has_time:
        fields["at"] = item.at.isoformat(timespec="seconds")
    citation = item.source.citation
    if citation is not None:
        fields |= {"section": (citation.section or "")[-MAX_SECTION_CHARS:], "pages": citation.pages}
        fields["number"] = item.number
    room = MAX_RECALLED_CHARS - len(json.dumps(fields, ensure_ascii=False))
    text = item.passage or item.shown
    while text and len(json.dumps(text, ensure_ascii=False)) - len('""') > room:
        text = text[: len(text) * 3 // 4]
    return fields | {"text": text}
