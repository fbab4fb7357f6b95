"""The signatures of a Bedrock model's thinking, and what the history may have of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.models.standins.bedrock_families import Family
from tests.models.standins.memory import Memory, digest
from tests.models.standins.question import Call, Json

CHANGED = (
    "messages.{at}.content.{block}: Invalid `signature` in `thinking` block. The block is bound to a different"
    ' conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
FOREIGN = "messages.{at}.content.{block}: Invalid `signature` in `thinking` block"


def call_of(block: Json) -> Call:
    """Return the call of a ``toolUse`` block."""
    return Call(block["toolUse"]["name"], json.dumps(block["toolUse"]["input"]))


def prefix(body: Json, messages: Sequence[Json]) -> str:
    """Return what a thinking block behind ``messages`` is bound to; cache points do not count."""
    tools = (body.get("toolConfig") or {}).get("tools") or []
    reported = [_without_points(item) for item in (body.get("system") or [], tools, list(messages))]
    return json.dumps(reported, sort_keys=True)


def signature(family: Family, body: Json, messages: Sequence[Json], thinking: str) -> str:
    """Return the signature of ``thinking`` that answers ``messages``."""
    return digest(family.name, prefix(body, messages) if family.reasoning == "bound" else "", thinking)


def complaints(family: Family, body: Json, memory: Memory) -> Iterator[str]:
    """Yield what is wrong with the thinking in the history."""
    messages = body["messages"]
    last_question = max((at for at, message in enumerate(messages) if _is_question(message)), default=-1)
    for at, message in enumerate(messages):
        blocks = message["content"]
        for number, block in enumerate(blocks):
            if "reasoningContent" in block:
                yield from _block(family, body, at, number)
        calls = [call_of(block) for block in blocks if "toolUse" in block]
        existing = memory.thinking(calls[0]) if calls else set()
        is_bare = not any("reasoningContent" in block for block in blocks)
        if family.reasoning == "signed" and existing and "" not in existing and is_bare and at > last_question:
            yield (
                f"The model returned the following errors: messages.{at}.content.0.type: Expected `thinking` or"
                " `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant`"
                " message must"
                " start with a thinking block."
            )


def _block(family: Family, body: Json, at: int, number: int) -> Iterator[str]:
    message = body["messages"][at]
    if family.reasoning == "refused" or message["role"] != "assistant":
        yield "User messages cannot contain reasoning content. Please remove the reasoning content and try again."
        return
    reasoning = message["content"][number]["reasoningContent"]
    text = reasoning.get("reasoningText", {})
    redacted = reasoning.get("redactedContent")
    if family.reasoning == "plain":
        return
    if redacted is None and not text.get("signature"):
        yield (
            f"The model returned the following errors: messages.{at}.content.{number}.thinking.signature:"
            " Field required"
        )
        return
    options = redacted if redacted is not None else text["signature"]
    thinking = "redacted" if redacted is not None else text["text"]
    if options != signature(family, body, body["messages"][:at], thinking):
        wording = CHANGED if family.reasoning == "bound" else FOREIGN
        yield "The model returned the following errors: " + wording.format(at=at, block=number)


def _is_question(message: Json) -> bool:
    return message["role"] == "user" and not any("toolResult" in block for block in message["content"])


def _without_points(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_points(item) for item in value if not (isinstance(item, dict) and "cachePoint" in item)]
    return {key: _without_points(item) for key, item in value.items()} if isinstance(value, dict) else value
