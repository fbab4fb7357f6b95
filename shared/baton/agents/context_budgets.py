"""Limits of prompts, in tokens, that were declared for a model or learned from its refusals in a conversation."""

from __future__ import annotations

from collections.abc import Callable

from cachetools import LRUCache

from baton.domain.agents.agent import AgentDefinition

MIN_TOKENS = 300
"""The smallest budget that is kept for a model. No conversation is possible with less."""
MAX_CONVERSATIONS = 1_000
"""The number of pairs of conversation and model whose budgets are kept."""


class ContextBudgets:
    """The budgets of this process's conversations with models, in tokens as Baton counts them.

    A prompt that was too long is shortened, and the length that the model accepted is kept for the conversation.
    Otherwise the model would first refuse each later prompt. Other conversations are not shortened, because the model
    may have refused the prompt for texts whose tokens it counts differently from Baton.
    """

    def __init__(self, declared: Callable[[str], int | None] = lambda _model: None) -> None:
        """``declared`` returns the declared limit of a model's prompts, in tokens; None without one."""
        self._declared = declared
        self._learned: LRUCache[tuple[str, str], int] = LRUCache(MAX_CONVERSATIONS)

    def limit(self, model: str, tokens: int, thread_id: str) -> int:
        """Return the tokens that a prompt of a conversation may take, at most ``tokens``."""
        longest = self._learned.get((model, thread_id)) or self._declared(model)
        return min(tokens, longest) if longest is not None else tokens

    def learn(self, model: str, budget: int, thread_id: str) -> None:
        """Keep the budget, in tokens, that a model has accepted in a conversation after it refused a larger prompt."""
        key = model, thread_id
        self._learned[key] = max(MIN_TOKENS, min(budget, self._learned.get(key, budget)))

    def fit_agent(self, agent: AgentDefinition, model: str, thread_id: str) -> AgentDefinition:
        """Return the agent with its working memory limited to the tokens that ``model`` accepts in a conversation."""
        limit = agent.memory.max_working_memory_tokens
        accepted_tokens = self.limit(model, limit, thread_id)
        if accepted_tokens >= limit:
            return agent
        memory = agent.memory.model_copy(update={"max_working_memory_tokens": accepted_tokens})
        return agent.model_copy(update={"memory": memory})
