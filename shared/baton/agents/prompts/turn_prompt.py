"""The prompt of an agent's turn: it grows with answers and results, and is shortened where it must be."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from operator import is_not

from baton.agents.tools.tool_set import ToolSet
from baton.concurrency.tasks import off_loop
from baton.domain.runs.provider_parts import Replay
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.memory.prompt.context import AssembledContext
from baton.memory.prompt.growing_turn import fit
from baton.memory.prompt.history_window import WindowedHistory
from baton.memory.prompt.token_estimates import (
    MESSAGE_FRAME_TOKENS,
    REPLY_TOKENS,
    answer_tokens,
    prompt_tokens,
    total_tokens,
)
from baton.ports.agents.chat_model import Prompt, TokenCounter


class TurnPrompt:
    """The prompts of one turn.

    As long as they fit, they only grow at the end: models bind their thinking, and caches what they keep, to what
    stands before.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._head = self._current_from = 0
        self._history: WindowedHistory | None = None
        self._retrieved: Collection[int] = ()
        """The identities of the prompts that were retrieved for the message."""
        self._dropped = 0
        """Exchanges that the growing turn has pushed out of the history."""
        self.prompts: list[Prompt] = []
        self.budget = 0
        """Tokens available to all prompts together."""

    async def begin(self, context: AssembledContext) -> None:
        """Take the assembled prompt."""
        self.prompts = list(context.prompts)
        self._head, self._current_from = context.head, context.current_from
        self.budget = context.budget
        self._history = context.history
        self._retrieved = {id(prompt) for prompt in context.recalled.prompts}
        if context.tokens > context.budget:
            await self.fit()  # otherwise the stored counts prove that it fits, without counting the history again

    @property
    def history(self) -> WindowedHistory | None:
        """The history that is left in it; None for an agent that sees none."""
        return self._history.drop_oldest(self._dropped) if self._history is not None else None

    @property
    def question(self) -> Prompt | None:
        """The user's message that is to be answered; None if there is none."""
        current = self.prompts[self._current_from :]
        return next((prompt for prompt in reversed(current) if prompt.role is Role.USER), None)

    def replace(self, old: Prompt, new: Prompt) -> None:
        """Put a prompt in place of another one."""
        self.prompts = [new if prompt is old else prompt for prompt in self.prompts]

    def add(self, *prompts: Prompt) -> None:
        """Add prompts at the end."""
        self.prompts += prompts

    async def fit(self) -> None:
        """Prune it to the budget: results may have made it longer, and a continued exchange may be too long at once."""
        before, end = self.prompts, self._current_from
        self.prompts, self._current_from = await off_loop(
            sum(map(count_characters, before)),
            fit,
            before,
            head=self._head,
            current_from=end,
            budget=self.budget,
            counter=self._counter,
        )
        if len(self.prompts) != len(before) or any(map(is_not, self.prompts, before)):
            self.prompts = [_drop_bound_parts(prompt) for prompt in self.prompts]
        dropped = before[self._head : self._head + end - self._current_from]
        self._dropped += sum(not index or prompt.role is Role.USER for index, prompt in enumerate(dropped))

    async def tokens(self) -> int:
        """Return the estimated tokens of all prompts together."""
        return await off_loop(sum(map(count_characters, self.prompts)), total_tokens, self.prompts, self._counter)

    async def shorten(self, budget: int, before: int) -> bool:
        """Leave more out, down to ``budget``; it had ``before`` tokens. Returns False if nothing can be left out."""
        self.budget = budget
        await self.fit()
        after = await self.tokens()
        if after > budget and any(id(prompt) in self._retrieved for prompt in self.prompts):
            self._leave_out(self._retrieved)
            return True
        return after < before

    def _leave_out(self, dropped: Collection[int]) -> None:
        """Take prompts out, by their identities."""
        head = sum(id(prompt) in dropped for prompt in self.prompts[: self._head])
        before = sum(id(prompt) in dropped for prompt in self.prompts[: self._current_from])
        self.prompts = [_drop_bound_parts(prompt) for prompt in self.prompts if id(prompt) not in dropped]
        self._head, self._current_from = self._head - head, self._current_from - before


def count_characters(prompt: Prompt) -> int:
    """Return roughly the number of characters of a prompt that are counted."""
    content = prompt.content
    calls = sum(len(call.name) + len(call.arguments) for call in prompt.tool_calls)
    return calls + (len(content) if isinstance(content, str) else sum(len(str(part)) for part in content))


def _drop_bound_parts(prompt: Prompt) -> Prompt:
    """Return a prompt of a turn that was shortened, without the parts that are bound to earlier prompts."""
    parts = prompt.provider_parts
    return prompt if parts is None or parts.replay is Replay.ALWAYS else replace(prompt, provider_parts=None)


async def estimate_usage(
    prompts: Sequence[Prompt], text: str, calls: Sequence[ToolCall], tools: ToolSet, counter: TokenCounter
) -> Usage:
    """Return the tokens of a request with ``prompts`` and ``tools``, and of its answer with ``text`` and ``calls``."""

    def count_tokens() -> Usage:
        prompt_size = sum(prompt_tokens(prompt, counter) for prompt in prompts) + tools.tokens(counter)
        answer_size = answer_tokens(text, calls, counter) - MESSAGE_FRAME_TOKENS * (1 + len(calls))
        return Usage(prompt_size + REPLY_TOKENS, answer_size)

    size = sum(map(count_characters, prompts)) + len(text)
    return await off_loop(size + sum(len(call.name) + len(call.arguments) for call in calls), count_tokens)
