"""What a request tells the prompt cache of an endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, cast
from urllib.parse import urlsplit

from openai.types.chat import ChatCompletionMessageParam

from baton.ports.chat_model import Prompt

MAX_BREAKPOINTS = 4
"""Marks of one request; Anthropic and Amazon Bedrock refuse more."""
CACHE_HINTS = ("prompt_cache_key", "cache_control")
"""Fields of which an endpoint's refusal says that it takes no hints."""
OPENAI_HOSTS = ("openai.com", "openai.azure.com")


class CacheHints(StrEnum):
    """What an endpoint takes."""

    NONE = "none"
    KEY = "key"
    """``prompt_cache_key``: requests of one conversation and agent go to the same cache (OpenAI, Mistral)."""
    BREAKPOINTS = "breakpoints"
    """``cache_control`` on content parts that end what later requests repeat (Anthropic's models behind a gateway)."""


def hints_for(base_url: str | None, setting: str) -> CacheHints:
    """Return the hints of a setting; ``auto`` sends keys to OpenAI's own hosts, and nothing to others."""
    if setting != "auto":
        return CacheHints(setting)
    host = urlsplit(base_url).hostname or "" if base_url else OPENAI_HOSTS[0]
    is_openai = any(host == known or host.endswith(f".{known}") for known in OPENAI_HOSTS)
    return CacheHints.KEY if is_openai else CacheHints.NONE


def ends_of_prefixes(prompts: Sequence[Prompt]) -> Sequence[int]:
    """Return the indices of the prompts to mark: the first two, which last longest, and the newest."""
    ends = [index for index, prompt in enumerate(prompts) if prompt.ends_prefix]
    if len(ends) <= MAX_BREAKPOINTS:
        return ends
    half = MAX_BREAKPOINTS // 2
    return [*ends[:half], *ends[-half:]]


def marked(messages: Sequence[ChatCompletionMessageParam], marks: Sequence[int]) -> list[ChatCompletionMessageParam]:
    """Return the messages with ``cache_control`` on the last content part of those at ``marks``."""
    return [_marked(message) if index in marks else message for index, message in enumerate(messages)]


def _marked(message: ChatCompletionMessageParam) -> ChatCompletionMessageParam:
    content: Any = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
    if not isinstance(parts, list) or not parts:
        return message  # an answer of nothing but calls has no part to mark
    last = {**parts[-1], "cache_control": {"type": "ephemeral"}}
    return cast("ChatCompletionMessageParam", {**message, "content": [*parts[:-1], last]})
