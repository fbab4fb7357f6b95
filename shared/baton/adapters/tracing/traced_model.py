"""Models whose calls are spans."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from ag_ui.core import TextPart
from pydantic import JsonValue

from baton.domain.documents.search import Vector
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import ModelUsage, Prices
from baton.domain.threads.content import Content
from baton.domain.threads.message import Role
from baton.domain.tracing import (
    Attribute,
    Operation,
    Span,
    find_error_code,
    get_current_span,
    is_content_withheld,
    to_content,
    traced,
)
from baton.ports.agents.chat_model import (
    AnsweredBy,
    ChatModel,
    Finished,
    FinishReason,
    LearningModel,
    ModelChunk,
    ModelSettings,
    Prompt,
    TextDelta,
    TextTakenBack,
    ToolSpec,
)
from baton.ports.documents.files import ThreadFiles
from baton.ports.documents.search import Embedder, EmbeddingPurpose

ProviderOf = Callable[[str], str]
"""A function that returns the provider of a model, by the conventions' names, such as ``openai``."""
_REASONS = {FinishReason.STOP: "stop", FinishReason.LENGTH: "length", FinishReason.TOOL_CALLS: "tool_call"}
"""The conventions' names of finish reasons in messages."""
MAX_MESSAGES = 50
"""The number of a prompt's messages that a span shows: the last ones."""
MAX_MESSAGE = 4_000
"""The length to which each of a prompt's messages is cut, in characters."""


class TracedModel:
    """``ChatModel`` whose calls inside a traced run are spans, from the question to the end of the answer."""

    def __init__(self, model: ChatModel, provider_of: ProviderOf, prices: Callable[[], Prices]) -> None:
        """``prices`` returns the prices of models now."""
        self._model = model
        self._provider_of = provider_of
        self._prices = prices

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """See ``ChatModel``."""
        span = get_current_span().begin(
            Operation.CHAT, settings.model, self._make_request_attributes(settings), is_remote=True
        )
        shows_content = span.shows_content and not is_content_withheld()
        answer = _Answer(span, time.monotonic(), shows_content=shows_content)
        try:
            if shows_content:
                span.set(_make_prompt_attributes(prompts))
            stream = self._model.stream(settings, prompts, thread_files=thread_files, tools=tools)
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    answer.take(chunk)
                    yield chunk
        except BaseException as error:
            if answer.finished is None:  # a reader that leaves after the end is not a failure
                span.fail(find_error_code(error))
            raise
        finally:
            answer.set_attributes(self._prices())
            span.end()

    def list_learned_facts(self, model: str) -> Mapping[str, JsonValue]:
        """See ``LearningModel``."""
        return self._model.list_learned_facts(model) if isinstance(self._model, LearningModel) else {}

    def _make_request_attributes(self, settings: ModelSettings) -> dict[Attribute, Any]:
        return {
            Attribute.PROVIDER: self._provider_of(settings.model),
            Attribute.REQUEST_MODEL: settings.model,
            Attribute.REQUEST_STREAM: True,
            Attribute.REQUEST_TEMPERATURE: settings.temperature,
            Attribute.REQUEST_TOP_P: settings.top_p,
            Attribute.REQUEST_MAX_TOKENS: settings.max_output_tokens,
        }


class _Answer:
    """An answer while it arrives. It sets the attributes of its span."""

    def __init__(self, span: Span, began_at: float, *, shows_content: bool) -> None:
        """``began_at`` is the monotonic time of the question."""
        self._span = span
        self._began_at = began_at
        self._shows_content = shows_content
        self._has_chunks = False
        self._model: str | None = None
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self.finished: Finished | None = None

    def take(self, chunk: ModelChunk) -> None:
        """Record a chunk of the answer."""
        if isinstance(chunk, AnsweredBy):
            self._model = chunk.model
            return
        if not self._has_chunks:
            self._has_chunks = True
            self._span.set({Attribute.FIRST_CHUNK: time.monotonic() - self._began_at})
        if isinstance(chunk, Finished):
            self.finished = chunk
        match chunk:
            case TextDelta(text) if self._shows_content:
                self._texts.append(text)
            case TextTakenBack():
                self._texts.clear()
            case ToolCall() if self._shows_content:
                self._calls.append(chunk)

    def set_attributes(self, prices: Prices) -> None:
        """Set the span's attributes of the answer so far. ``prices`` give its cost."""
        span, finished = self._span, self.finished
        span.set({Attribute.RESPONSE_MODEL: finished.model if finished is not None else self._model})
        if self._shows_content:
            parts = [{"type": "text", "content": to_content("".join(self._texts))}] if self._texts else []
            reason = _REASONS[finished.reason] if finished is not None else "error"
            message = {
                "role": "assistant",
                "parts": [*parts, *map(_to_call_part, self._calls)],
                "finish_reason": reason,
            }
            span.set({Attribute.OUTPUT_MESSAGES: json.dumps([message], ensure_ascii=False)})
        if finished is None:
            return
        span.set({Attribute.FINISH_REASONS: (finished.reason.value,)})
        if finished.usage is not None:
            usage = finished.usage
            span.set(
                {
                    Attribute.INPUT_TOKENS: usage.input_tokens,
                    Attribute.OUTPUT_TOKENS: usage.output_tokens,
                    Attribute.CACHE_READ_TOKENS: usage.cached_input_tokens or None,
                    Attribute.CACHE_WRITE_TOKENS: usage.cache_write_tokens or None,
                    Attribute.REASONING_TOKENS: usage.reasoning_tokens or None,
                    Attribute.COST: prices.compute_cost([ModelUsage(finished.model, usage)], usage),
                }
            )


class TracedEmbedder:
    """``Embedder`` whose calls inside a traced run are spans."""

    def __init__(self, embedder: Embedder, provider_of: ProviderOf) -> None:
        self._embedder = embedder
        self._provider_of = provider_of

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
        tenant_id: str | None = None,
    ) -> Sequence[Vector]:
        """See ``Embedder``."""
        attributes = {
            Attribute.PROVIDER: self._provider_of(self._embedder.name),
            Attribute.REQUEST_MODEL: self._embedder.name,
        }
        with traced(Operation.EMBEDDINGS, self._embedder.name, attributes, is_remote=True):
            return await self._embedder.embed(texts, purpose=purpose, seconds=seconds, tenant_id=tenant_id)


def _make_prompt_attributes(prompts: Sequence[Prompt]) -> dict[Attribute, Any]:
    """Return the attributes of the prompt's system messages and other messages, as the conventions' JSON."""
    head = [prompt for prompt in prompts if prompt.role is Role.SYSTEM]
    messages = [prompt for prompt in prompts if prompt.role is not Role.SYSTEM][-MAX_MESSAGES:]
    instructions = [
        {"type": "text", "content": to_content(_join_texts(prompt.content), MAX_MESSAGE)} for prompt in head
    ]
    return {
        Attribute.SYSTEM_INSTRUCTIONS: json.dumps(instructions, ensure_ascii=False),
        Attribute.INPUT_MESSAGES: json.dumps([_to_message(message) for message in messages], ensure_ascii=False),
    }


def _join_texts(content: Content) -> str:
    """Return the text of a content. Parts of other kinds are left out."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, TextPart))


def _to_message(prompt: Prompt) -> dict[str, Any]:
    """Return a message as the conventions' JSON."""
    text = to_content(_join_texts(prompt.content), MAX_MESSAGE)
    if prompt.role is Role.TOOL:
        part = {"type": "tool_call_response", "id": prompt.tool_call_id, "response": text}
        return {"role": "tool", "parts": [part]}
    parts = [{"type": "text", "content": text}] if text else []
    role = "assistant" if prompt.role is Role.ASSISTANT else "user"
    return {"role": role, "parts": [*parts, *map(_to_call_part, prompt.tool_calls)]}


def _to_call_part(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": to_content(call.arguments, MAX_MESSAGE)}
