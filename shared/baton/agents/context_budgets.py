"""The tokens that a prompt may have by its model, as refusals have shown in a conversation."""

from __future__ import annotations

from collections.abc import Callable

from cachetools import LRUCache

from baton.domain.agents.agent import AgentDefinition

MIN_TOKENS = 300
"""The smallest budget that is kept for a model. Below it no conversation is possible."""
MAX_CONVERSATIONS = 1_000
"""Conversations and models that are remembered."""


class ContextBudgets:
    """The budgets of this process's conversations with models, in tokens as Baton counts them.

    A prompt that was too long is shortened, and the length that the model accepted is kept for the conversation:
    otherwise each later prompt of it would be refused first. Other conversations are not shortened, because the refusal
    may be due to texts that the model counts differently from Baton.
    """

    def __init__(self, declared: Callable[[str], int | None] = lambda _model: None) -> None:
        """``declared`` returns the context length of a model; None if it is not known to be short."""
        self._declared = declared
        self._learned: LRUCache[tuple[str, str], int] = LRUCache(MAX_CONVERSATIONS)

    def of(self, model: str, tokens: int, thread_id: str) -> int:
        """Return the tokens that a prompt of a conversation may take, at most ``tokens``."""
        limit = self._learned.get((model, thread_id)) or self._declared(model)
        return min(tokens, limit) if limit is not None else tokens

    def learn(self, model: str, budget: int, thread_id: str) -> None:
        """Keep the budget that a model has accepted in a conversation, after it refused a larger one."""
        key = model, thread_id
        self._learned[key] = max(MIN_TOKENS, min(budget, self._learned.get(key, budget)))

    def fit(self, agent: AgentDefinition, model: str, thread_id: str) -> AgentDefinition:
        """Return the agent with the working memory that its model accepts in a conversation."""
        limit = agent.memory.max_working_memory_tokens
        accepted_tokens = self.of(model, limit, thread_id)
        if accepted_tokens >= limit:
            return agent
        memory = agent.memory.model_copy(update={"max_working_memory_tokens": accepted_tokens})
        return agent.model_copy(update={"memory": memory})
