"""Fit the prompts of a turn that grows with the results of its calls into the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton.domain.threads.message import Role
from baton.memory.prompt.history_window import KEPT_SHARE
from baton.memory.prompt.message_prompts import SHORTENED_CHARS, SHORTENED_NOTE
from baton.memory.prompt.token_estimates import REPLY_TOKENS, prompt_tokens
from baton.ports.agents.chat_model import Prompt, TokenCounter

SHORTENED_TO = 0.7
"""The share of the budget that remains when results are shortened, so that not every further call shortens again."""


def fit(
    prompts: Sequence[Prompt], *, head: int, current_from: int, budget: int, counter: TokenCounter
) -> tuple[list[Prompt], int]:
    """Prune the prompts of a growing turn to the budget. Returns them and the index of the current exchange.

    The first ``head`` prompts and the question stay. The oldest exchanges of the history are dropped first, so many at
    once that ``KEPT_SHARE`` of its room is used. Then the results of this turn's calls are shortened, oldest first,
    because the model has most likely used those. Further calls then leave the prompts as they are for a while, as a
    provider's prompt cache needs it.
    """
    sizes = [prompt_tokens(prompt, counter) for prompt in prompts]
    total = sum(sizes) + REPLY_TOKENS
    if total <= budget:
        return list(prompts), current_from
    start = head
    history = sum(sizes[head:current_from])
    room = KEPT_SHARE * max(0, budget - (total - history))
    while history > room and start < current_from:
        end = start + 1
        while end < current_from and prompts[end].role is not Role.USER:
            end += 1
        history -= sum(sizes[start:end])
        total -= sum(sizes[start:end])
        start = end
    fitting = [*prompts[:head], *prompts[start:]]
    first = head + current_from - start
    return _shorten_results(fitting, first, total, budget, counter), first


def _shorten_results(prompts: list[Prompt], first: int, total: int, budget: int, counter: TokenCounter) -> list[Prompt]:
    """Shorten results from the index ``first`` on, those of the newest calls only as far as they must be."""
    if total <= budget:
        return prompts
    newest = max((at for at, prompt in enumerate(prompts) if prompt.tool_calls), default=len(prompts))
    shortened = list(prompts)
    for index in range(first, len(shortened)):
        prompt = shortened[index]
        if total <= (SHORTENED_TO * budget if index < newest else budget):
            if index >= newest:
                break
            continue
        if prompt.role is Role.TOOL and isinstance(prompt.content, str) and len(prompt.content) > SHORTENED_CHARS:
            short = replace(prompt, content=f"{prompt.content[:SHORTENED_CHARS]}\n{SHORTENED_NOTE}")
            saved = prompt_tokens(prompt, counter) - prompt_tokens(short, counter)
            if saved > 0:
                total -= saved
                shortened[index] = short
    return shortened
