"""Token counts of messages and prompts, as providers count them, before the model's own usage is known."""

from __future__ import annotations

from collections.abc import Sequence

from ag_ui.core import TextPart

from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Content, Role
from baton.ports.agents.chat_model import Prompt, TokenCounter

MESSAGE_FRAME_TOKENS = 4
"""Tokens added to each message: three of framing and one for the role (OpenAI's cookbook, "counting tokens")."""
CONTEXT_FRAME_TOKENS = MESSAGE_FRAME_TOKENS + 12
"""Tokens added to each context prompt: a message with the tags of ``QUOTED_CONTEXT``."""
REPLY_TOKENS = 3
"""Tokens that prime every reply."""
IMAGE_TOKENS = 765
"""An image at high detail, 1024 x 1024 (OpenAI's vision guide). The true size is unknown until it is fetched."""
DOCUMENT_TOKENS = 1_000
"""An estimate for a document that is not inline text. The model's usage figures are exact, but come later."""
CALLS_COUNTED_EACH = 32 * 1024
"""Characters of all calls of an answer up to which each call is counted separately."""


def message_tokens(content: Content, counter: TokenCounter) -> int:
    """Return the tokens of a message in a prompt, its framing included."""
    if isinstance(content, str):
        return MESSAGE_FRAME_TOKENS + counter.count(content)
    tokens = MESSAGE_FRAME_TOKENS
    for part in content:
        if isinstance(part, TextPart):
            tokens += counter.count(part.text)
        else:
            tokens += IMAGE_TOKENS if part.type == "image" else DOCUMENT_TOKENS
    return tokens


def answer_tokens(text: str, calls: Sequence[ToolCall], counter: TokenCounter) -> int:
    """Return the tokens of an assistant message in a prompt, its tool calls included.

    Calls whose total is long are counted as one text, which the counter may estimate. Counting many short calls exactly
    would take long.
    """
    texts = [part for call in calls for part in (call.name, call.arguments)]
    if sum(map(len, texts)) > CALLS_COUNTED_EACH:
        texts = [" ".join(texts)]
    return message_tokens(text, counter) + MESSAGE_FRAME_TOKENS * len(calls) + sum(map(counter.count, texts))


def prompt_tokens(prompt: Prompt, counter: TokenCounter) -> int:
    """Return the tokens of a prompt, its calls and provider parts included."""
    tokens = message_tokens(prompt.content, counter)
    if prompt.role is Role.CONTEXT:
        tokens += CONTEXT_FRAME_TOKENS - MESSAGE_FRAME_TOKENS
    if prompt.tool_calls:
        tokens += answer_tokens("", prompt.tool_calls, counter) - MESSAGE_FRAME_TOKENS
    if prompt.provider_parts is not None:
        tokens += prompt.provider_parts.tokens
    return tokens


def total_tokens(prompts: Sequence[Prompt], counter: TokenCounter) -> int:
    """Return the tokens of several prompts together."""
    return sum(prompt_tokens(prompt, counter) for prompt in prompts)
