"""A chat model whose calls are counted, and limited by their cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from pydantic import JsonValue

from baton.concurrency.tasks import off_loop
from baton.domain.errors import ModelError, ModelTimeout
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.failures.reports import in_background
from baton.memory.prompt.message_prompts import MESSAGE_FRAME_TOKENS, REPLY_TOKENS, count_total_tokens
from baton.ports.agents.chat_model import (
    AnsweredBy,
    ChatModel,
    Finished,
    LearningModel,
    ModelChunk,
    ModelSettings,
    Prompt,
    ReasoningDelta,
    TextDelta,
    TokenCounter,
    ToolSpec,
)
from baton.ports.documents.files import ThreadFiles
from baton.tenants.spending_limits import CallSize, ReservedCall, SpendingLimits


@dataclass(frozen=True, slots=True)
class LimitedModel:
    """``ChatModel`` that asks ``model`` within the spending limits of the caller.

    Calls for tenants without such limits, and calls for the deployment itself, are passed on unchanged.
    """

    model: ChatModel
    limits: SpendingLimits
    counter: TokenCounter

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """See ``ChatModel``. Raises the errors of ``SpendingLimits.reserve`` too.

        A call under a limit in money gets a maximum of output tokens, so that its price has a maximum.
        """
        caller, reserved, prompt_tokens = settings.caller, None, 0
        rules = await self.limits.read_rules(Scope(caller.tenant_id, caller.user_id)) if caller is not None else None
        if caller is not None and rules is not None:
            if rules.has_limits:
                output_tokens = settings.max_output_tokens or rules.most_output_tokens
                settings = replace(settings, max_output_tokens=output_tokens)
                prompt_tokens = await self._count_tokens(prompts, tools)
            models = tuple(dict.fromkeys((settings.model, *settings.fallback)))
            size = CallSize(models, prompt_tokens, settings.max_output_tokens or 0)
            reserved = await self.limits.reserve(caller, rules, size)
        stream = self.model.stream(settings, prompts, thread_files=thread_files, tools=tools)
        if reserved is None:
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        spent = _Spent(prompt_tokens)
        try:
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    spent.take(chunk)
                    yield replace(chunk, warning=reserved.warning) if isinstance(chunk, Finished) else chunk
        except ModelError as error:
            spent.is_charged = spent.is_charged or isinstance(error, ModelTimeout)
            raise
        except BaseException:
            spent.is_charged = True  # the call was stopped after the model had read the prompt
            raise
        finally:
            # The spending is recorded even if the run is cancelled.
            await asyncio.shield(in_background(self._settle_spending(reserved, spent), "spending of a call"))

    def list_learned_facts(self, model: str) -> Mapping[str, JsonValue]:
        """See ``LearningModel``."""
        return self.model.list_learned_facts(model) if isinstance(self.model, LearningModel) else {}

    async def _count_tokens(self, prompts: Sequence[Prompt], tools: Sequence[ToolSpec]) -> int:
        """Return the estimated number of tokens in a request."""

        def count_tokens() -> int:
            tool_texts = (f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in tools)
            prompt_tokens = count_total_tokens(prompts, self.counter) + REPLY_TOKENS
            return prompt_tokens + sum(MESSAGE_FRAME_TOKENS + self.counter.count(text) for text in tool_texts)

        size = sum(len(prompt.content) if isinstance(prompt.content, str) else 0 for prompt in prompts)
        return await off_loop(size, count_tokens)

    async def _settle_spending(self, reserved: ReservedCall, spent: _Spent) -> None:
        usage = spent.usage
        if usage is None:
            written_tokens = self.counter.count("".join(spent.texts))
            usage = Usage(spent.prompt_tokens, written_tokens) if spent.is_charged else Usage()
        await self.limits.settle(reserved, spent.model, usage)


class _Spent:
    """The usage of a call so far."""

    def __init__(self, prompt_tokens: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.model: str | None = None
        self.usage: Usage | None = None
        """The usage that the endpoint reports at the end of the answer; None before, or without a report."""
        self.texts: list[str] = []
        self.is_charged = False
        """True if the provider charges the call."""

    def take(self, chunk: ModelChunk) -> None:
        """Record a chunk of the answer."""
        match chunk:
            case AnsweredBy(model):
                self.model = model
                return
            case TextDelta(text) | ReasoningDelta(text):
                self.texts.append(text)
            case ToolCall():
                self.texts.append(f"{chunk.name} {chunk.arguments}")
            case Finished():
                self.model, self.usage = chunk.model, chunk.usage
        self.is_charged = True
