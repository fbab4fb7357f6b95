"""Estimates of a model call's usage, for endpoints that report none and answers that broke off."""

from __future__ import annotations

from collections.abc import Sequence

from baton.agents.tool_set import ToolSet
from baton.agents.turn_prompt import count_characters
from baton.concurrency import off_loop
from baton.domain.tool_call import ToolCall
from baton.domain.usage import Usage
from baton.memory.prompt.token_estimates import MESSAGE_FRAME_TOKENS, REPLY_TOKENS, answer_tokens, prompt_tokens
from baton.ports.chat_model import Prompt, TokenCounter


async def estimate_usage(
    prompts: Sequence[Prompt], text: str, calls: Sequence[ToolCall], tools: ToolSet, counter: TokenCounter
) -> Usage:
    """Return the tokens of a request with ``prompts`` and ``tools``, and of its answer with ``text`` and ``calls``."""

    def count_tokens() -> Usage:
        asked = sum(prompt_tokens(prompt, counter) for prompt in prompts) + tools.tokens(counter)
        said = answer_tokens(text, calls, counter) - MESSAGE_FRAME_TOKENS * (1 + len(calls))
        return Usage(asked + REPLY_TOKENS, said)

    size = sum(map(count_characters, prompts)) + len(text)
    return await off_loop(size + sum(len(call.name) + len(call.arguments) for call in calls), count_tokens)
