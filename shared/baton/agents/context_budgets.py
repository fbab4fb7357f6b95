"""The tokens that a prompt may have by its model, as refusals have shown."""

from __future__ import annotations

from collections.abc import Callable

from cachetools import LRUCache

from baton.domain.agent import AgentDefinition

SHRINK = 0.6
"""The share of a refused prompt that is tried next. The model counts differently from Baton, so a bit less may fail."""
MIN_TOKENS = 300
"""The smallest budget that is kept for a model. Below it no conversation is possible."""
MAX_MODELS = 1_000
"""Models that are remembered. Tenants name models, so their number has no other bound."""


def _undeclared(_model: str) -> int | None:
    return None


class ContextBudgets:
    """The budgets of this process's models, in tokens as Baton counts them.

    A prompt that was too long is shortened, and the length that the model took is kept for it: otherwise each later
    prompt of the conversation would be refused first.
    """

    def __init__(self, declared: Callable[[str], int | None] = _undeclared) -> None:
        """``declared`` returns the context length of a model; None if it is not known to be short."""
        self._declared = declared
        self._learned: LRUCache[str, int] = LRUCache(MAX_MODELS)

    def of(self, model: str, wanted: int) -> int:
        """Return the tokens that a prompt may take, at most ``wanted``."""
        known = self._learned.get(model) or self._declared(model)
        return min(wanted, known) if known is not None else wanted

    def next(self, used: int) -> int:
        """Return the budget to try after a prompt of ``used`` tokens was too long."""
        return int(used * SHRINK)

    def learn(self, model: str, budget: int) -> None:
        """Keep the budget that a model has accepted after it refused a larger one."""
        self._learned[model] = max(MIN_TOKENS, min(budget, self._learned.get(model, budget)))

    def fit(self, agent: AgentDefinition, model: str) -> AgentDefinition:
        """Return the agent with the working memory that its model takes."""
        wanted = agent.memory.max_working_memory_tokens
        most = self.of(model, wanted)
        if most >= wanted:
            return agent
        memory = agent.memory.model_copy(update={"max_working_memory_tokens": most})
        return agent.model_copy(update={"memory": memory})
