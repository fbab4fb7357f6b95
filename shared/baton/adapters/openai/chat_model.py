"""A chat model behind the Chat Completions API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import httpx2 as httpx
from aws_lambda_powertools import Logger
from openai import (
    AsyncStream,
    BadRequestError,
    OpenAIError,
    Timeout,
    UnprocessableEntityError,
    omit,
)
from openai.types.chat import ChatCompletionChunk, ChatCompletionFunctionToolParam, ChatCompletionMessageParam

from baton.adapters.circuit_breaker import CircuitBreakers, CircuitOpen
from baton.adapters.openai.cache_hints import CACHE_HINTS, CacheHints, ends_of_prefixes, marked
from baton.adapters.openai.clients import Backoff, OpenAIClients
from baton.adapters.openai.errors import Failure, describe, model_error
from baton.adapters.openai.messages import wire_messages, wire_metadata, wire_schema, wire_tools
from baton.adapters.openai.tool_calls import ToolCallFragments, TooManyCalls
from baton.adapters.stream_limits import StreamTooLong
from baton.domain.errors import ContentFiltered, ModelError, ModelTimeout, ModelUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.text import first_bytes, utf8_size
from baton.domain.tool_call import ToolCall
from baton.domain.usage import Usage
from baton.ports.chat_model import (
    MAX_ANSWER_BYTES,
    Finished,
    FinishReason,
    ModelChunk,
    ModelSettings,
    Prompt,
    TextDelta,
    ToolSpec,
)
from baton.ports.files import ThreadFiles

USAGE_GRACE_SECONDS = 5.0
"""How long to wait for the token counts after a complete answer."""

_REASONS = {
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
}


@dataclass(frozen=True, slots=True)
class _Question:
    """A request to Chat Completions."""

    settings: ModelSettings
    messages: list[ChatCompletionMessageParam]
    tools: list[ChatCompletionFunctionToolParam]
    prefixes: Sequence[int]
    """Indices of the messages with which a prefix ends that later requests are likely to repeat."""


@dataclass(frozen=True, slots=True)
class _Dialect:
    """Parameters that an endpoint does not support for a model, as found out by requests."""

    counts_usage: bool = True
    completion_limit: bool = False
    """Reasoning models reject ``max_tokens`` and require ``max_completion_tokens``, which older servers do not know."""
    takes_cache_hints: bool = True
    takes_schema: bool = True
    """Whether it takes a JSON Schema of the answer."""

    def after(self, error: BadRequestError | UnprocessableEntityError) -> _Dialect | None:
        """Return the dialect to try next, or None if ``error`` is about something else."""
        said = f"{error.param} {error.message}"
        if self.counts_usage and ("stream_options" in said or "include_usage" in said):
            return replace(self, counts_usage=False)
        if self.takes_cache_hints and any(hint in said for hint in CACHE_HINTS):
            return replace(self, takes_cache_hints=False)
        if not self.completion_limit and "max_completion_tokens" in said:
            return replace(self, completion_limit=True)
        if self.takes_schema and ("response_format" in said or "json_schema" in said):
            return replace(self, takes_schema=False)
        return None


class OpenAIChatModel:
    """``ports.chat_model.ChatModel`` over Chat Completions of any base URL.

    As long as no chunk was yielded, a 429, 408, 5xx, a connection error and a broken stream are retried ``max_retries``
    times, with back-off and ``Retry-After``, within ``ModelSettings.timeout_seconds``. The SDK's own retries are off,
    because they end where the stream begins.

    If several answers in a row fail, the circuit of ``breakers`` opens and requests raise ``ModelUnavailable`` at once.
    Rate limits, refusals and content filters do not count as failures.

    The client is created with the first request, one for each event loop. ``api_key`` may be an async callable, which
    is called before each request; its errors are passed on. With ``sends_metadata`` each request says what it is about
    in the field ``metadata``, which some endpoints refuse. ``cache_hints`` are what it tells a prompt cache.
    """

    def __init__(
        self,
        *,
        api_key: str | Callable[[], Awaitable[str]],
        base_url: str | None = None,
        connect_timeout_seconds: float = 5.0,
        max_retries: int = 2,
        backoff_seconds: float = 0.5,
        breakers: CircuitBreakers | None = None,
        sends_metadata: bool = False,
        cache_hints: CacheHints = CacheHints.NONE,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._base_url = base_url
        self._max_retries = max_retries
        self._backoff = Backoff(backoff_seconds)
        self._breakers = breakers or CircuitBreakers()
        self._sends_metadata = sends_metadata
        self._cache_hints = cache_hints
        # _answer enforces the timeout, because a gateway's keep-alive comments reset the SDK's read timeout.
        self._clients = OpenAIClients(
            api_key, base_url, Timeout(None, connect=connect_timeout_seconds), transport=transport
        )
        self._dialects: dict[str, _Dialect] = {}
        self._logger = Logger(child=True)

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the answer's text as it arrives, then its tool calls, then one ``Finished``; see the port.

        Close the iterator (``contextlib.aclosing``) to end the HTTP stream before the answer is complete.
        """
        messages = await wire_messages(prompts, thread_files)
        question = _Question(settings, messages, wire_tools(tools), ends_of_prefixes(prompts))
        endpoint = f"{self._base_url or 'OpenAI'} {settings.model}"
        try:
            async with (
                self._breakers.guard(endpoint, is_failure=_is_outage),
                aclosing(self._attempts(question)) as chunks,
            ):
                async for chunk in chunks:
                    yield chunk
        except CircuitOpen as left_alone:
            self._logger.warning("The model is not asked", extra={"model": settings.model, "text": str(left_alone)})
            count(Metric.MODEL_CALLS_FAILED)
            raise ModelUnavailable from None

    async def _attempts(self, question: _Question) -> AsyncGenerator[ModelChunk, None]:
        settings = question.settings
        loop = asyncio.get_running_loop()
        deadline = loop.time() + settings.timeout_seconds
        for attempt in range(self._max_retries + 1):
            answering = False
            try:
                async with aclosing(self._answer(question, deadline)) as chunks:
                    async for chunk in chunks:
                        answering = True
                        yield chunk
                return
            except (OpenAIError, TimeoutError, ValueError, ModelError) as failure:
                delay = self._backoff.before_retry(failure, attempt)
                last = answering or attempt == self._max_retries or delay is None or loop.time() + delay >= deadline
                self._log(failure, settings.model, attempt, last)
                if last or delay is None:
                    # The cause is logged only, because its text may quote the request.
                    raise model_error(failure) from None
            await asyncio.sleep(delay)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._clients.aclose()

    async def _answer(self, question: _Question, deadline: float) -> AsyncGenerator[ModelChunk, None]:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout_at(deadline):
            stream = await self._open(question)
        answer = _Answer(question.settings.model)
        async with stream:
            while not answer.is_cut:
                try:
                    # The timeout must not span a yield: it would cancel the consumer.
                    async with asyncio.timeout_at(deadline):
                        chunk = await anext(stream, None)
                except StreamTooLong as too_long:
                    self._logger.warning("The model's stream is cut", extra={"text": str(too_long)})
                    count(Metric.MODEL_CALLS_FAILED)
                    if not answer.size:
                        raise ModelUnavailable from None
                    answer.cut()
                    break
                except (OpenAIError, TimeoutError, ValueError):
                    if answer.reason is None:
                        raise
                    break  # The answer is complete. Only its token counts are missing.
                if chunk is None:
                    break
                was_finished, size = answer.reason is not None, answer.size
                text = answer.take(chunk)
                if text:
                    yield TextDelta(text)
                for call in answer.take_calls():
                    yield call
                if answer.size > size:
                    deadline = loop.time() + question.settings.timeout_seconds
                if answer.reason is not None and not was_finished:
                    deadline = loop.time() + USAGE_GRACE_SECONDS
        for call in answer.take_calls():
            yield call
        yield answer.finished()

    async def _open(self, question: _Question) -> AsyncStream[ChatCompletionChunk]:
        settings = question.settings
        metadata = wire_metadata(settings.metadata) if self._sends_metadata else {}
        while True:
            dialect = self._dialects.get(settings.model, _Dialect())
            limit = omit if settings.max_output_tokens is None else settings.max_output_tokens
            hints = self._cache_hints if dialect.takes_cache_hints else CacheHints.NONE
            marks = question.prefixes if hints is CacheHints.BREAKPOINTS else ()
            try:
                return await self._clients.get().chat.completions.create(
                    model=settings.model,
                    messages=marked(question.messages, marks),
                    tools=question.tools or omit,
                    stream=True,
                    stream_options={"include_usage": True} if dialect.counts_usage else omit,
                    temperature=omit if settings.temperature is None else settings.temperature,
                    max_tokens=omit if dialect.completion_limit else limit,
                    max_completion_tokens=limit if dialect.completion_limit else omit,
                    metadata=metadata or omit,
                    prompt_cache_key=(settings.cache_key if hints is CacheHints.KEY else None) or omit,
                    response_format=wire_schema(settings.answer_schema) if dialect.takes_schema else omit,
                )
            except (BadRequestError, UnprocessableEntityError) as error:
                other = dialect.after(error)
                if other is None:
                    raise
                self._dialects[settings.model] = other

    def _log(self, failure: Failure, model: str, attempt: int, last: bool) -> None:
        details = describe(failure, self._clients.key)
        message = "The model failed" if last else "The model failed; trying again"
        self._logger.warning(message, extra={"model": model, "attempt": attempt + 1, **details})
        count(Metric.MODEL_CALLS_FAILED)


def _is_outage(error: Exception) -> bool:
    return isinstance(error, ModelUnavailable | ModelTimeout)


class _Answer:
    """One answer in progress."""

    def __init__(self, model: str) -> None:
        self.reason: FinishReason | None = None
        self.is_cut = False
        """Whether it was cut at the length limit."""
        self._said = 0
        self._model = model
        self._usage: Usage | None = None
        self._fragments = ToolCallFragments()
        self._called = False

    @property
    def size(self) -> int:
        """Bytes of the model's output: text, calls and reasoning."""
        return self._said + self._fragments.size

    def cut(self) -> None:
        """End the answer here and ignore the rest."""
        self.is_cut, self.reason = True, FinishReason.LENGTH

    def take(self, chunk: object) -> str:
        """Return the text in ``chunk``. Raises ``ContentFiltered``, and ``ModelUnavailable`` if it is none."""
        # The SDK does not validate responses, so a chunk may have any shape.
        if not isinstance(chunk, ChatCompletionChunk):
            raise ModelUnavailable
        if isinstance(chunk.model, str) and chunk.model:
            self._model = chunk.model
        self._take_usage(chunk)
        if not chunk.choices:
            return ""
        try:
            choice = chunk.choices[0]
            text, refusal = (choice.delta.content, choice.delta.refusal) if choice.delta else (None, None)
            if choice.delta:
                self._said += _thought(choice.delta.model_extra)
                self._fragments.add(choice.delta.tool_calls)
            reason = choice.finish_reason
        except TooManyCalls:
            self.cut()
            return ""
        except (AttributeError, TypeError, LookupError):
            raise ModelUnavailable from None
        if refusal or reason == "content_filter":
            raise ContentFiltered
        if reason:
            self.reason = _REASONS.get(reason, FinishReason.STOP)
        return self._fitting(text if isinstance(text, str) else "")

    def _fitting(self, text: str) -> str:
        """Return ``text``, cut to the remaining length of the answer."""
        room = MAX_ANSWER_BYTES - self.size
        fitting = first_bytes(text, room)
        self._said += utf8_size(fitting)
        if len(fitting) < len(text) or room < 0:
            self.cut()
        return fitting

    def take_calls(self) -> list[ToolCall]:
        """Return the tool calls of a complete answer, once. Raises ``ModelUnavailable`` if one names no tool."""
        if self.reason is None:
            return []
        calls = self._fragments.take(cut=self.reason is FinishReason.LENGTH)
        self._called = self._called or bool(calls)
        if self._called and self.reason is FinishReason.STOP:
            # Some endpoints end every answer with "stop".
            self.reason = FinishReason.TOOL_CALLS
        return calls

    def finished(self) -> Finished:
        """Return the end. Raises ``ModelUnavailable`` if the stream had no finish reason."""
        if self.reason is None:
            raise ModelUnavailable
        return Finished(self.reason, self._model, self._usage)

    def _take_usage(self, chunk: ChatCompletionChunk) -> None:
        # Some endpoints send cumulative counts with every chunk, so the last ones are the totals.
        counts = (getattr(chunk.usage, "prompt_tokens", None), getattr(chunk.usage, "completion_tokens", None))
        if isinstance(counts[0], int) and isinstance(counts[1], int):
            self._usage = Usage(counts[0], counts[1], min(counts[0], _cached(chunk.usage)))


def _cached(usage: object) -> int:
    """Return the input tokens that were read from a prompt cache, as OpenAI and those after its example tell them."""
    told = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    return told if isinstance(told, int) and told > 0 else 0


def _thought(extra: object) -> int:
    """Return the size of ``reasoning`` and ``reasoning_content``, which are not kept."""
    return sum(len(value) for value in extra.values() if isinstance(value, str)) if isinstance(extra, dict) else 0
