"""Rules for what an answer of Chat Completions must have when it is sent back: signatures and reasoning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.models.standins.chat_rules import Found, calls_of, current_turn
from tests.models.standins.memory import Memory, digest
from tests.models.standins.question import Call, Json

DUMMY = "skip_thought_signature_validator"
"""The value that Google's documentation offers for calls of other models."""


def call_of(call: Json) -> Call:
    """Return a call of the history."""
    return Call(call["function"]["name"], call["function"]["arguments"])


def thought_signature(call: Call) -> str:
    """Return the signature of a call, as Gemini gives it to the first call of an answer.

    It is that of the tool only, because malformed arguments cannot come back as they were.
    """
    return digest("gemini", call.name)


def _signature(call: Json) -> Any:
    extra = call.get("extra_content") or {}
    fields = (extra.get("google") or extra.get("vertex") or {}) if isinstance(extra, dict) else {}
    return fields.get("thought_signature")


def _unsigned(messages: list[Json]) -> Found:
    for at, message in enumerate(messages):
        for call in calls_of(message)[:1]:
            if not _signature(call):
                return {"name": call["function"]["name"], "at": at}
    return None


def signatures(body: Json, memory: Memory) -> Found:
    """The first call of each answer of the current turn has its signature."""
    return _unsigned(current_turn(body["messages"]))


def signatures_everywhere(body: Json, memory: Memory) -> Found:
    """The first call of each answer has a signature, in earlier turns too."""
    return _unsigned(body["messages"])


def true_signatures(body: Json, memory: Memory) -> Found:
    """A signature is that of its call, and other calls have none."""
    for at, message in enumerate(body["messages"]):
        for position, call in enumerate(calls_of(message)):
            options = _signature(call)
            if options not in (None, DUMMY) and (position or options != thought_signature(call_of(call))):
                return {"name": call["function"]["name"], "at": at}
    return None


def reasoning_details(thinking: str) -> list[Json]:
    """Return the details that come with ``thinking`` at OpenRouter: a text with a signature, and an encrypted rest."""
    return [
        {"type": "reasoning.text", "text": thinking, "signature": digest("details", thinking),
         "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": digest("rest", thinking), "format": "anthropic-claude-v1", "index": 1},
    ]  # fmt: skip


def thinking_blocks(thinking: str) -> list[Json]:
    """Return the blocks that come with ``thinking`` at LiteLLM."""
    return [{"type": "thinking", "thinking": thinking, "signature": digest("blocks", thinking)}]


def _replayed(field: str, clients: Callable[[str], list[Json]]) -> Callable[[Json, Memory], Found]:
    def rule(body: Json, memory: Memory) -> Found:
        for at, message in enumerate(body["messages"]):
            calls = calls_of(message)
            options = message.get(field)
            existing = memory.thinking(call_of(calls[0])) if calls else set()
            if options and options != clients(str(options[0].get("text", options[0].get("thinking", "")))):
                return {"at": at, "problem": "is changed"}
            if not options and existing and "" not in existing and message in current_turn(body["messages"]):
                return {"at": at, "problem": "is missing"}
        return None

    return rule


replayed_details = _replayed("reasoning_details", reasoning_details)
"""An answer of the current turn has its ``reasoning_details``, unchanged and in order."""
replayed_blocks = _replayed("thinking_blocks", thinking_blocks)
"""The same with ``thinking_blocks``."""
