"""Hints of a request for the prompt cache of its endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton.adapters.models.attachments.content import LaidMessage
from baton.adapters.models.profiles.profile import CacheHints
from baton.ports.agents.chat_model import Prompt

MAX_BREAKPOINTS = 4
"""Marks of one request; Anthropic and Amazon Bedrock refuse more."""


def hints_of_setting(setting: str) -> CacheHints | None:
    """Return the hints that an operator has chosen; None for ``auto``, which leaves them to the model's profile."""
    return None if setting == "auto" else CacheHints(setting)


def ends_of_prefixes(prompts: Sequence[Prompt | LaidMessage], most: int = MAX_BREAKPOINTS) -> Sequence[int]:
    """Return the indices of the messages to mark: the first ones, which last longest, and the newest."""
    ends = [index for index, prompt in enumerate(prompts) if prompt.ends_prefix]
    if len(ends) <= most:
        return ends
    first = most // 2
    return [*ends[:first], *ends[len(ends) - (most - first) :]]


def marked(messages: Sequence[dict[str, Any]], marks: Sequence[int]) -> list[dict[str, Any]]:
    """Return the messages with ``cache_control`` on the last content part of those at ``marks``."""
    return [_mark(message) if index in marks else message for index, message in enumerate(messages)]


def _mark(message: dict[str, Any]) -> dict[str, Any]:
    content: Any = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
    if not isinstance(parts, list) or not parts:
        return message  # an answer of nothing but calls has no part to mark
    last = {**parts[-1], "cache_control": {"type": "ephemeral"}}
    return {**message, "content": [*parts[:-1], last]}
