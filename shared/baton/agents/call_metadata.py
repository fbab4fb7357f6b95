"""What a request to a model is about, as data beside the prompt: who asks, and where the workflow stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from baton.domain.agent import AgentDefinition
from baton.domain.running_conversation import RunningConversation
from baton.memory.recalled import NOTHING_RECALLED, Recalled, RecalledItem

MAX_RECALLED = 3
"""Recalled items that a request names, the best ones. Endpoints limit the number of values to 16."""
MAX_RECALLED_OF_CONSULTED = 5
"""The same for an agent that another one consults: it has no workflow to tell of."""
MAX_SECTION_CHARS = 80
"""Characters of the headings above a chunk, the innermost ones."""
MAX_RECALLED_CHARS = 480
"""Characters of the JSON of one of them. Endpoints limit a value to 512."""


def call_metadata(
    agent: AgentDefinition, conversation: RunningConversation | None, recalled: Recalled = NOTHING_RECALLED
) -> dict[str, Any]:
    """Flat names with JSON values. ``conversation`` is None for an agent that another one consults."""
    told: dict[str, Any] = {"agent": agent.id}
    if recalled.procedures:
        draft = recalled.procedures[0].draft
        told |= {"skill.name": draft.name, "skill.steps": [step.text for step in draft.steps]}
    told |= dict(_recalled(recalled, MAX_RECALLED if conversation is not None else MAX_RECALLED_OF_CONSULTED))
    if conversation is None:
        return told
    if conversation.resumable:
        told["unfinished"] = {workflow.id: workflow.name for workflow in conversation.resumable}
    workflow = conversation.workflow
    if workflow is not None:
        told |= {"workflow.id": workflow.id, "workflow.name": workflow.name, "workflow.state": workflow.state}
        for fields in workflow.data.values():
            told |= {f"workflow.data.{name}": value for name, value in fields.items()}
    return told


def _recalled(recalled: Recalled, limit: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what is remembered, best first."""
    items = [item for block in (recalled.knowledge, recalled.episodes) for item in block.included]
    for number, item in enumerate(sorted(items, key=lambda item: -(item.score or 0.0))[:limit], start=1):
        yield f"recalled.{number}", _told(item)


def _told(item: RecalledItem) -> dict[str, Any]:
    """Return an item with as much of its text as fits."""
    day = item.day or (item.at.date() if item.at is not None else None)
    date = day.isoformat() if day is not None else ""
    told = {"kind": item.kind, "date": date, "source": item.title[:80], "role": item.role, "text": ""}
    citation = item.source.citation if item.source is not None else None
    if citation is not None:
        told |= {"section": (citation.section or "")[-MAX_SECTION_CHARS:], "pages": citation.pages}
    room = MAX_RECALLED_CHARS - len(json.dumps(told, ensure_ascii=False))
    text = item.passage or item.text
    while len(json.dumps(text, ensure_ascii=False)) - 2 > room:
        text = text[: len(text) * 3 // 4]
    return told | {"text": text}
