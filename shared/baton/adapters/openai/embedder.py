"""An embedding model behind the OpenAI Embeddings API."""

from __future__ import annotations

import asyncio
import base64
import binascii
import math
from array import array
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

import httpx2 as httpx
from aws_lambda_powertools import Logger
from openai import APIStatusError, OpenAIError, omit

from baton.adapters.circuit_breaker import CircuitBreakers, CircuitOpen
from baton.adapters.models.failure import Backoff
from baton.adapters.openai.clients import OpenAIClients
from baton.adapters.openai.errors import provider_failure
from baton.adapters.openai.response_limits import EMBEDDING_LIMITS
from baton.adapters.stream_limits import StreamTooLong
from baton.domain.errors import EmbedderUnavailable, WrongEmbeddings
from baton.domain.metrics import Metric, count
from baton.domain.search import Vector
from baton.off_loop import off_loop
from baton.ports.embedder import EmbeddingPurpose
from baton.ports.token_counter import TokenCounter

MAX_TEXT_TOKENS = 4_000
"""Tokens of a text that are embedded. OpenAI's models take 8,192 tokens of an older vocabulary, which needs up to twice
as many of them for some scripts."""
MAX_BATCH_TEXTS = 64
MAX_BATCH_TOKENS = 100_000
"""OpenAI takes 2,048 texts of 300,000 tokens together."""
PARALLEL_BATCHES = 4
MAX_CUTS = 4
"""How often the texts of a batch are halved if the endpoint says that they are too long."""
NOTHING = "."
"""What is embedded for a text without characters: the API refuses an empty one."""

_TOO_LONG = ("maximum context length", "too long", "too large", "token limit", "max_tokens", "input length", "exceed")


class _NoEmbeddings(Exception):
    """The endpoint's answer is not what was asked for. The message says why."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A text at its place among all texts, with the number of its tokens."""

    place: int
    text: str
    tokens: int


class OpenAIEmbedder:
    """``ports.embedder.Embedder`` over the Embeddings API of any base URL.

    A 429, 408, 5xx, a connection error and an answer that holds no embeddings are retried ``max_retries`` times, with
    back-off and ``Retry-After``, within ``timeout_seconds`` for a batch. If several batches in a row fail, the circuit
    opens, and ``embed`` raises at once for a while. Callers with little time have a circuit of their own, because an
    endpoint that is too slow for them may be fast enough for others. ``transport`` carries the requests in place of the
    SDK's own.
    """

    def __init__(
        self,
        model: str,
        dimensions: int,
        *,
        counter: TokenCounter,
        api_key: str | Callable[[], Awaitable[str]],
        base_url: str | None = None,
        timeout_seconds: float = 30.0,
        max_retries: int = 2,
        backoff_seconds: float = 0.5,
        breakers: CircuitBreakers | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._model = model
        self._dimensions = dimensions
        self._counter = counter
        self._base_url = base_url
        self._timeout_seconds = timeout_seconds
        self._max_retries = max_retries
        self._backoff = Backoff(backoff_seconds)
        self._breakers = breakers or CircuitBreakers()
        self._clients = OpenAIClients(api_key, base_url, timeout_seconds, EMBEDDING_LIMITS, transport)
        self._logger = Logger(child=True)

    @property
    def name(self) -> str:
        """See ``Embedder``."""
        return self._model

    @property
    def dimensions(self) -> int:
        """See ``Embedder``."""
        return self._dimensions

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
    ) -> Sequence[Vector]:
        """See ``Embedder``. This API knows no purposes."""
        deadline = asyncio.get_running_loop().time() + seconds if seconds is not None else None
        vectors: list[Vector] = [()] * len(texts)
        batches = await off_loop(sum(map(len, texts)), self._batches, texts)
        places = asyncio.Semaphore(PARALLEL_BATCHES)

        async def fill(batch: Sequence[_Text]) -> None:
            async with places:
                for text, vector in zip(batch, await self._guarded(batch, seconds, deadline), strict=True):
                    vectors[text.place] = vector

        try:
            async with asyncio.TaskGroup() as group:
                for batch in batches:
                    group.create_task(fill(batch))
        except* EmbedderUnavailable as failed:
            raise next(leaves(failed)) from None
        return vectors

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._clients.aclose()

    def _batches(self, texts: Sequence[str]) -> list[list[_Text]]:
        batches: list[list[_Text]] = []
        tokens = 0
        for text in self._cut(texts):
            if not batches or len(batches[-1]) == MAX_BATCH_TEXTS or tokens + text.tokens > MAX_BATCH_TOKENS:
                batches.append([])
                tokens = 0
            batches[-1].append(text)
            tokens += text.tokens
        return batches

    def _cut(self, texts: Sequence[str]) -> Iterator[_Text]:
        for place, given in enumerate(texts):
            # Lone surrogates have no UTF-8 form.
            text = given.encode(errors="replace").decode().strip() or NOTHING
            tokens = self._counter.count(text)
            while tokens > MAX_TEXT_TOKENS:
                text = text[: max(1, int(len(text) * 0.98 * MAX_TEXT_TOKENS / tokens))]
                tokens = self._counter.count(text)
            yield _Text(place, text, tokens)

    async def _guarded(self, batch: Sequence[_Text], seconds: float | None, deadline: float | None) -> list[Vector]:
        circuit = f"{self._base_url or 'OpenAI'} {self._model}"
        if seconds is not None:
            circuit += f" within {seconds:g} s"
        try:
            async with self._breakers.guard(circuit, is_failure=_is_outage):
                return await self._attempts([text.text for text in batch], deadline)
        except CircuitOpen as left_alone:
            self._logger.warning("The embedder is not asked", extra={"model": self._model, "text": str(left_alone)})
            count(Metric.MODEL_CALLS_FAILED)
            raise EmbedderUnavailable from None

    async def _attempts(self, texts: list[str], callers_deadline: float | None) -> list[Vector]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_seconds
        if callers_deadline is not None:
            deadline = min(deadline, callers_deadline)
        attempt = cuts = 0
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await self._ask(texts)
            except (OpenAIError, TimeoutError, ValueError, OverflowError, StreamTooLong, _NoEmbeddings) as failure:
                if _is_too_long(failure) and cuts < MAX_CUTS:
                    cuts += 1
                    longest = max(map(len, texts)) // 2
                    texts = [text[:longest].strip() or NOTHING for text in texts]
                    continue
                delay = self._delay(failure, attempt)
                last = attempt == self._max_retries or delay is None or loop.time() + delay >= deadline
                self._log(failure, attempt, last)
                if last or delay is None:
                    # The cause is logged only, because its text may quote the request.
                    raise EmbedderUnavailable from None
            await asyncio.sleep(delay)
            attempt += 1

    async def _ask(self, texts: list[str]) -> list[Vector]:
        answer = await self._clients.get().embeddings.create(
            model=self._model,
            input=texts,
            encoding_format="base64",
            # Only these models shorten their vectors. Most others refuse the field.
            dimensions=self._dimensions if "text-embedding-3" in self._model else omit,
        )
        size = len(texts) * self._dimensions
        return await off_loop(size, _vectors, getattr(answer, "data", None), len(texts), self._dimensions)

    def _delay(self, failure: Exception, attempt: int) -> float | None:
        """Return the seconds to wait before a retry; None if a retry is useless."""
        if isinstance(failure, OpenAIError | TimeoutError):
            return self._backoff.before_retry(provider_failure(failure), attempt)
        return self._backoff.delay(attempt)

    def _log(self, failure: Exception, attempt: int, last: bool) -> None:
        if isinstance(failure, OpenAIError | TimeoutError | ValueError):
            details = provider_failure(failure).described(self._clients.key)
        else:
            details = {"failure": type(failure).__name__, "text": str(failure)}
        message = "The embedder failed" if last else "The embedder failed; trying again"
        self._logger.warning(message, extra={"model": self._model, "attempt": attempt + 1, **details})
        count(Metric.MODEL_CALLS_FAILED)


def leaves(group: BaseExceptionGroup[EmbedderUnavailable]) -> Iterator[EmbedderUnavailable]:
    """Yield the errors of a group, those that no retry helps first: they name the cause of all."""
    found: list[EmbedderUnavailable] = []
    for each in group.exceptions:
        found += leaves(each) if isinstance(each, BaseExceptionGroup) else [each]
    yield from sorted(found, key=lambda error: error.retryable)


def _is_outage(error: Exception) -> bool:
    return not isinstance(error, WrongEmbeddings)


def _is_too_long(failure: Exception) -> bool:
    if not isinstance(failure, APIStatusError) or failure.status_code not in (400, 413, 422):
        return False
    return failure.status_code == 413 or any(words in provider_failure(failure).words for words in _TOO_LONG)


def _vectors(data: object, texts: int, dimensions: int) -> list[Vector]:
    """Return the vectors of an answer, with length 1. Raises ``_NoEmbeddings``. The SDK does not validate answers."""
    if not isinstance(data, list) or len(data) != texts:
        raise _NoEmbeddings(f"The answer has no list of {texts} embeddings.")
    embeddings = [_numbers(getattr(each, "embedding", None)) for each in data]
    lengths = {len(numbers) for numbers in embeddings}
    if len(lengths) == 1 and lengths.isdisjoint({0, dimensions}):
        raise WrongEmbeddings.of(lengths.pop(), dimensions)
    vectors: dict[int, Vector] = {}
    for position, (each, numbers) in enumerate(zip(data, embeddings, strict=True)):
        place = getattr(each, "index", None)
        # Some endpoints leave the places out.
        vectors[position if place is None else place] = _vector(numbers, dimensions)
    if vectors.keys() != set(range(texts)):
        raise _NoEmbeddings("The places of the embeddings are not those of the texts.")
    return [vectors[place] for place in range(texts)]


def _numbers(given: object) -> Sequence[float]:
    return _decoded(given) if isinstance(given, str) else given if isinstance(given, list) else ()


def _vector(numbers: Sequence[float], dimensions: int) -> Vector:
    if len(numbers) != dimensions:
        raise _NoEmbeddings(f"An embedding has {len(numbers)} numbers, not {dimensions}.")
    if not all(type(number) in (float, int) for number in numbers):
        raise _NoEmbeddings("An embedding holds something that is no number.")
    try:
        length = math.hypot(*numbers)
    except OverflowError:  # of an integer
        length = math.inf
    if not math.isfinite(length) or not length:
        raise _NoEmbeddings("An embedding is zero, or a number of it is too large or not finite.")
    return tuple(number / length for number in numbers)


def _decoded(text: str) -> Sequence[float]:
    try:
        return array("f", base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        raise _NoEmbeddings("An embedding is not base64 of numbers.") from None
