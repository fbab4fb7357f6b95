"""Shorter prompts for models that refuse one as too long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from baton.agents.attempt_context import Attempt
from baton.agents.prompts.turn_prompt import TurnPrompt
from baton.agents.tools.tool_set import ToolSet
from baton.domain.errors import ContextTooLong

MAX_SHORTENINGS = 6
"""The most times that a prompt is shortened for a model. The last one has a twentieth of its tokens."""


class PromptShortening:
    """An agent's prompt, shortened until its model takes it. The length is kept for the conversation."""

    def __init__(self, prompt: TurnPrompt, tools: ToolSet, context: Attempt, model: str) -> None:
        self._prompt = prompt
        self._tools = tools
        self._services = context.services
        self._thread_id = context.thread_id
        self._model = model

    async def ask(self, ask: Callable[[], Awaitable[None]], *, is_shown: Callable[[], bool]) -> None:
        """Ask the model by ``ask``, again with a shorter prompt after each refusal.

        Raises its refusal if nothing can be left out, or if ``is_shown`` returns that the user has seen a part of the
        answer.
        """
        refusals: list[ContextTooLong] = []
        while True:
            try:
                await ask()
                break
            except ContextTooLong as refusal:
                refusals.append(refusal)
                if len(refusals) > MAX_SHORTENINGS or is_shown():
                    raise
                tokens = await self._prompt.tokens()
                if not await self._prompt.shorten(self._services.budgets.next(tokens), tokens):
                    raise  # nothing can be left out
        self._learn(refusals)

    def _learn(self, refusals: Sequence[ContextTooLong]) -> None:
        """Keep the length that the model takes, unless no refusal was certain: one would shorten all later prompts."""
        if any(not refusal.is_guess for refusal in refusals):
            # A fallback's limit is not the model's.
            model = next((refusal.model for refusal in reversed(refusals) if refusal.model), self._model)
            budget = self._prompt.budget + self._tools.tokens(self._services.counter)
            self._services.budgets.learn(model, budget, self._thread_id)
