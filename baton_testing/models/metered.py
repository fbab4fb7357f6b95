"""A model whose tokens are counted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from baton.domain.runs.usage import ModelUsage, Prices, Usage
from baton.ports.agents.chat_model import ChatModel, Finished, ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.documents.files import ThreadFiles


@dataclass
class MeteredModel:
    """``ports.agents.chat_model.ChatModel`` that counts the tokens of another one."""

    model: ChatModel
    spent: list[ModelUsage] = field(default_factory=list)
    is_complete: bool = True
    """Whether every call that was completed has reported its usage. Failed calls are not counted."""
    before: Callable[[], Awaitable[None]] | None = None
    """A function that is called before each request, or None."""

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the model's chunks."""
        if self.before is not None:
            await self.before()
        async with aclosing(self.model.stream(settings, prompts, thread_files=thread_files, tools=tools)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Finished):
                    self.is_complete = self.is_complete and chunk.usage is not None
                    self.spent.append(ModelUsage(settings.model, chunk.usage or Usage()))
                yield chunk

    @property
    def tokens(self) -> int:
        """The reported tokens of all calls so far."""
        return sum(usage.usage.total_tokens for usage in self.spent)

    def compute_cost(self, prices: Prices) -> float | None:
        """Return the cost so far, in USD; None if a price or a usage is unknown."""
        if not self.is_complete:
            return None
        return prices.compute_cost(self.spent, Usage(self.tokens)) if prices else None
