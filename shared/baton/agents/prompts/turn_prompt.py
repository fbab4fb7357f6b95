"""The prompt of an agent's turn, which grows with answers and results, and is shortened if it becomes too long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from operator import is_not

from baton.agents.attempt_context import Attempt
from baton.agents.tools.tool_set import ToolSet
from baton.concurrency.tasks import off_loop
from baton.domain.errors import ContextTooLong
from baton.domain.runs.provider_parts import Replay
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.memory.prompt.context import AssembledContext
from baton.memory.prompt.history_window import KEPT_SHARE, WindowedHistory
from baton.memory.prompt.message_prompts import (
    MESSAGE_FRAME_TOKENS,
    REPLY_TOKENS,
    SHORTENED_CHARS,
    SHORTENED_NOTE,
    count_answer_tokens,
    count_prompt_tokens,
    count_total_tokens,
)
from baton.ports.agents.chat_model import Prompt, TokenCounter


class TurnPrompt:
    """The prompts of one turn. Call ``begin`` first.

    As long as the prompts fit, prompts are only added at the end, because a model's signed thinking and a prompt cache
    are valid only if all preceding prompts stay the same.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._head = 0
        """The number of prompts before the history, which ``fit`` keeps."""
        self._current_from = 0
        """The index of the first prompt after the history."""
        self._history: WindowedHistory | None = None
        self._retrieved: Collection[int] = ()
        """The ``id()`` of each prompt that was retrieved from memory for the message."""
        self._dropped = 0
        """The number of exchanges that were dropped from the history to make room for the turn."""
        self.prompts: list[Prompt] = []
        self.budget = 0
        """The tokens available to all prompts together."""

    async def begin(self, context: AssembledContext) -> None:
        """Begin with the assembled prompt, and shorten it if it exceeds its budget."""
        self.prompts = list(context.prompts)
        self._head, self._current_from = context.head, context.current_from
        self.budget = context.budget
        self._history = context.history
        self._retrieved = {id(prompt) for prompt in context.recalled.prompts}
        if context.tokens > context.budget:
            await self.fit()  # only then, because it counts the history's tokens again

    @property
    def history(self) -> WindowedHistory | None:
        """The history without the dropped exchanges; None for an agent that gets no history."""
        return self._history.drop_oldest(self._dropped) if self._history is not None else None

    @property
    def question(self) -> Prompt | None:
        """The user's message that the agent answers; None without a message."""
        current = self.prompts[self._current_from :]
        return next((prompt for prompt in reversed(current) if _is_question(prompt)), None)

    def replace(self, old: Prompt, new: Prompt) -> None:
        """Replace the prompt ``old``, compared by identity, with ``new``."""
        self.prompts = [new if prompt is old else prompt for prompt in self.prompts]

    def add(self, *prompts: Prompt) -> None:
        """Add prompts at the end."""
        self.prompts += prompts

    async def fit(self) -> None:
        """Prune the prompts to the budget. Results of calls or a continued exchange may exceed it."""
        before, end = self.prompts, self._current_from
        self.prompts, self._current_from = await off_loop(
            sum(map(count_characters, before)),
            fit_prompts,
            before,
            head=self._head,
            current_from=end,
            budget=self.budget,
            counter=self._counter,
        )
        if len(self.prompts) != len(before) or any(map(is_not, self.prompts, before)):
            self.prompts = [_drop_bound_parts(prompt) for prompt in self.prompts]
        dropped = before[self._head : self._head + end - self._current_from]
        self._dropped += sum(not index or _is_question(prompt) for index, prompt in enumerate(dropped))

    async def count_tokens(self) -> int:
        """Return the estimated tokens of all prompts together."""
        return await off_loop(sum(map(count_characters, self.prompts)), count_total_tokens, self.prompts, self._counter)

    async def shorten(self, budget: int, before: int) -> bool:
        """Shorten the prompts to ``budget`` tokens; if that is not enough, drop the retrieved prompts.

        ``before`` is the number of tokens so far. Return whether the prompts are shorter now.
        """
        self.budget = budget
        await self.fit()
        after = await self.count_tokens()
        is_retrieved = [id(prompt) in self._retrieved for prompt in self.prompts]
        if after <= budget or not any(is_retrieved):
            return after < before
        self.prompts = [_drop_bound_parts(prompt) for prompt in self.prompts if id(prompt) not in self._retrieved]
        self._head -= sum(is_retrieved[: self._head])
        self._current_from -= sum(is_retrieved[: self._current_from])
        return True


def _is_question(prompt: Prompt) -> bool:
    return prompt.role is Role.USER and not prompt.is_steered


def count_characters(prompt: Prompt) -> int:
    """Return the approximate number of characters of a prompt, which determines the time to count its tokens."""
    content = prompt.content
    calls = sum(len(call.name) + len(call.arguments) for call in prompt.tool_calls)
    return calls + (len(content) if isinstance(content, str) else sum(len(str(part)) for part in content))


def _drop_bound_parts(prompt: Prompt) -> Prompt:
    """Return the prompt without provider parts that are valid only if the preceding prompts are unchanged."""
    parts = prompt.provider_parts
    return prompt if parts is None or parts.replay is Replay.ALWAYS else replace(prompt, provider_parts=None)


async def estimate_usage(
    prompts: Sequence[Prompt], text: str, calls: Sequence[ToolCall], tools: ToolSet, counter: TokenCounter
) -> Usage:
    """Return the estimated tokens of a request, with ``prompts`` and ``tools``, and of its answer."""

    def estimate() -> Usage:
        prompt_size = sum(count_prompt_tokens(prompt, counter) for prompt in prompts) + tools.count_tokens(counter)
        answer_size = count_answer_tokens(text, calls, counter) - MESSAGE_FRAME_TOKENS * (1 + len(calls))
        return Usage(prompt_size + REPLY_TOKENS, answer_size)

    size = sum(map(count_characters, prompts)) + len(text)
    return await off_loop(size + sum(len(call.name) + len(call.arguments) for call in calls), estimate)


SHORTENED_TO = 0.7
"""The share of the budget to which results are shortened, so that not every further call has to shorten again."""


def fit_prompts(
    prompts: Sequence[Prompt], *, head: int, current_from: int, budget: int, counter: TokenCounter
) -> tuple[list[Prompt], int]:
    """Prune the prompts of a growing turn to the budget. Return them and the index of the current exchange.

    The first ``head`` prompts and the question are kept. First the oldest exchanges of the history are dropped, until
    the history takes ``KEPT_SHARE`` of its room. Then the results of this turn's calls are shortened. The oldest
    results are shortened first, because the model has most likely used them already. Pruning leaves some room, so that
    the prompts, and the provider's prompt cache, stay the same for some further calls.
    """
    sizes = [count_prompt_tokens(prompt, counter) for prompt in prompts]
    total = sum(sizes) + REPLY_TOKENS
    if total <= budget:
        return list(prompts), current_from
    start = head
    history = sum(sizes[head:current_from])
    room = KEPT_SHARE * max(0, budget - (total - history))
    while history > room and start < current_from:
        end = start + 1
        while end < current_from and not _is_question(prompts[end]):
            end += 1
        history -= sum(sizes[start:end])
        total -= sum(sizes[start:end])
        start = end
    fitting = [*prompts[:head], *prompts[start:]]
    first = head + current_from - start
    return _shorten_results(fitting, first, total, budget, counter), first


def _shorten_results(prompts: list[Prompt], first: int, total: int, budget: int, counter: TokenCounter) -> list[Prompt]:
    """Shorten results from index ``first`` on. Results of the newest calls are shortened only as far as necessary."""
    if total <= budget:
        return prompts
    newest = max((index for index, prompt in enumerate(prompts) if prompt.tool_calls), default=len(prompts))
    shortened = list(prompts)
    for index in range(first, len(shortened)):
        prompt = shortened[index]
        if total <= (SHORTENED_TO * budget if index < newest else budget):
            if index >= newest:
                break
            continue
        if prompt.role is Role.TOOL and isinstance(prompt.content, str) and len(prompt.content) > SHORTENED_CHARS:
            short_prompt = replace(prompt, content=f"{prompt.content[:SHORTENED_CHARS]}\n{SHORTENED_NOTE}")
            saved_tokens = count_prompt_tokens(prompt, counter) - count_prompt_tokens(short_prompt, counter)
            if saved_tokens > 0:
                total -= saved_tokens
                shortened[index] = short_prompt
    return shortened


SHRINK = 0.6
"""The share of a refused prompt's tokens that is tried next.

It is well below 1, because models count tokens differently from Baton.
"""
MAX_SHORTENINGS = 6
"""The most times that a prompt is shortened for a model. The last prompt has a twentieth of its tokens."""


async def ask_shortened(
    context: Attempt,
    prompt: TurnPrompt,
    tools: ToolSet,
    model: str,
    ask: Callable[[], Awaitable[None]],
    *,
    is_shown: Callable[[], bool],
) -> None:
    """Call ``ask`` to ask the model, and repeat it with a shorter prompt after each ``ContextTooLong``.

    The length that the model accepts is kept for the conversation. Raises ``ContextTooLong`` if nothing more can be
    left out, or if ``is_shown`` returns that the user has seen a part of the answer. Raises other errors of ``ask``.
    """
    refusals: list[ContextTooLong] = []
    budgets = context.services.budgets
    while True:
        try:
            await ask()
            break
        except ContextTooLong as refusal:
            refusals.append(refusal)
            if len(refusals) > MAX_SHORTENINGS or is_shown():
                raise
            tokens = await prompt.count_tokens()
            if not await prompt.shorten(int(tokens * SHRINK), tokens):
                raise  # nothing can be left out
    # If Baton has only guessed that the prompt was too long, later prompts must not be shortened for it.
    if any(not refusal.is_guess for refusal in refusals):
        # The refusal may come from a fallback, whose limit is not that of ``model``.
        model = next((refusal.model for refusal in reversed(refusals) if refusal.model), model)
        budgets.learn(model, prompt.budget + tools.count_tokens(context.services.counter), context.thread_id)
