"""Ask one API for embeddings: batches, cuts, retries, deadlines, the pace and the circuit breaker."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger

from baton.adapters.egress.circuit_breaker import CircuitBreakers, CircuitOpen
from baton.adapters.egress.stream_limits import StreamTooLong
from baton.adapters.models.embedding_pace import MAX_PAUSE_SECONDS, EmbeddingPace, EmbeddingPaces
from baton.adapters.models.failures.failure import Backoff, FailureKind, ProviderFailure
from baton.concurrency.tasks import off_loop
from baton.domain.documents.search import Vector
from baton.domain.errors import EmbedderUnavailable, ModelRateLimited, WrongEmbeddings
from baton.domain.metrics import Metric, count
from baton.ports.agents.chat_model import TokenCounter
from baton.ports.documents.search import EmbeddingPurpose

MAX_CUTS = 4
"""The maximum number of times that a batch is cut because the endpoint says that its texts are too long.

Each cut leaves half of the longest text, and as much of the others.
"""
PATIENCE_SECONDS = 240.0
"""Seconds for which a request in the background is repeated if the endpoint is overloaded. Functions live for 300 s."""
NOTHING = "."
"""The text to embed in place of an empty one, which APIs refuse."""

_TOO_LONG = (
    "maximum context length",
    "maximum length",
    "too long",
    "too large",
    "too many input tokens",
    "token limit",
    "max_tokens",
    "input length",
    "exceed",
)


def make_embeddable(text: str) -> str:
    """Return the text as a model can embed it: without lone surrogates, which have no UTF-8 form, and not empty."""
    return text.encode(errors="replace").decode().strip() or NOTHING


class NoEmbeddings(Exception):
    """The endpoint's answer does not hold the requested embeddings. The message says why."""


@dataclass(frozen=True, slots=True)
class EmbeddingLimits:
    """The limits of an embedding API."""

    batch_texts: int
    """Texts of one request."""
    batch_tokens: int
    """Tokens of all texts of one request."""
    text_tokens: int
    """Tokens of a text that are embedded."""
    text_characters: int | None
    """Characters of a text that are embedded; None for any number."""
    parallel: int
    """Requests at the same time."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A text at its place among all texts, with the number of its tokens."""

    position: int
    text: str
    tokens: int


class ApiEmbedder(ABC):
    """``ports.documents.search.Embedder`` of one model. A subclass sends one request of one API.

    Transient failures, and answers that hold no embeddings, are retried at most ``max_retries`` times, with back-off or
    the wait that the endpoint asks for, within ``timeout_seconds`` for a batch. If several batches in a row fail, the
    circuit opens, and ``embed`` raises at once for a while. Callers with little time have a separate circuit,
    because an endpoint that is too slow for them may be fast enough for others.

    Callers without a time limit work in the background. Their requests keep to the ``EmbeddingPace`` of the model,
    which all embedders of the process share, and each may take ``timeout_seconds``. For ``PATIENCE_SECONDS``, a refusal
    for the endpoint's load slows the pace and does not count as an attempt. A batch that was not answered in time is
    sent again in halves.
    """

    def __init__(
        self,
        name: str,
        dimensions: int,
        *,
        model: str,
        endpoint: str,
        limits: EmbeddingLimits,
        counter: TokenCounter,
        timeout_seconds: float,
        max_retries: int,
        backoff: Backoff,
        breakers: CircuitBreakers,
        paces: EmbeddingPaces,
        secret: Callable[[], str] = str,
    ) -> None:
        """``endpoint`` and ``model`` name the circuit. Logs leave out the text that ``secret`` returns."""
        self.name = name
        self.dimensions = dimensions
        self._model = model
        self._circuit = f"{endpoint} {model}"
        self._limits = limits
        self._counter = counter
        self._timeout_seconds = timeout_seconds
        self._max_retries = max_retries
        self._backoff = backoff
        self._breakers = breakers
        self._paces = paces
        self._secret = secret
        self._logger = Logger(child=True)

    @abstractmethod
    async def ask(self, texts: Sequence[str], purpose: EmbeddingPurpose) -> list[Vector]:
        """Return a vector of length 1 for each text, with one request.

        Raises ``ProviderFailure``, ``NoEmbeddings``, ``WrongEmbeddings`` and ``StreamTooLong``, and may time out.
        """

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
        tenant_id: str | None = None,
    ) -> Sequence[Vector]:
        """See ``Embedder``."""
        deadline = asyncio.get_running_loop().time() + seconds if seconds is not None else None
        vectors: list[Vector] = [()] * len(texts)
        batches = await off_loop(sum(map(len, texts)), self._make_batches, texts)
        slots = asyncio.Semaphore(self._limits.parallel)

        async def fill(batch: Sequence[_Text]) -> None:
            async with slots:
                texts_of_batch = [text.text for text in batch]
                batch_vectors = await self._embed_guarded(texts_of_batch, purpose, seconds, deadline, tenant_id)
                for text, vector in zip(batch, batch_vectors, strict=True):
                    vectors[text.position] = vector

        try:
            async with asyncio.TaskGroup() as group:
                for batch in batches:
                    group.create_task(fill(batch))
        except* EmbedderUnavailable as failed:
            # An error that no retry can fix is preferred, because it names the cause of the others too.
            errors = [error for error in failed.exceptions if isinstance(error, EmbedderUnavailable)]
            raise min(errors, key=lambda error: error.retryable) from None
        return vectors

    def _make_batches(self, texts: Sequence[str]) -> list[list[_Text]]:
        """Return the texts, cut to the limits of one text, in batches within the limits of one request."""
        limits = self._limits
        batches: list[list[_Text]] = []
        tokens = 0
        for text in self._cut_texts(texts):
            if not batches or len(batches[-1]) == limits.batch_texts or tokens + text.tokens > limits.batch_tokens:
                batches.append([])
                tokens = 0
            batches[-1].append(text)
            tokens += text.tokens
        return batches

    def _cut_texts(self, texts: Sequence[str]) -> Iterator[_Text]:
        """Yield the texts, each cut to the API's limits of characters and tokens."""
        limits = self._limits
        for position, whole_text in enumerate(texts):
            text = make_embeddable(whole_text)[: limits.text_characters].strip()
            tokens = self._counter.count(text)
            while tokens > limits.text_tokens:
                text = text[: max(1, int(len(text) * 0.98 * limits.text_tokens / tokens))]
                tokens = self._counter.count(text)
            yield _Text(position, text, tokens)

    async def _embed_guarded(
        self,
        texts: list[str],
        purpose: EmbeddingPurpose,
        seconds: float | None,
        deadline: float | None,
        tenant_id: str | None,
    ) -> list[Vector]:
        """Embed the texts unless the circuit is open. Calls with a limit of ``seconds`` have a separate circuit."""
        circuit = self._circuit if seconds is None else f"{self._circuit} within {seconds:g} s"
        try:
            async with self._breakers.guard(circuit, tenant_id=tenant_id, is_failure=_is_outage):
                if deadline is None:
                    return await self._embed_paced(texts, purpose)
                return await self._embed_with_retries(texts, purpose, deadline)
        except CircuitOpen as circuit_open:
            self._logger.warning("The embedder is not asked", extra={"model": self._model, "text": str(circuit_open)})
            count(Metric.MODEL_CALLS_FAILED)
            raise EmbedderUnavailable from None

    async def _embed_paced(self, texts: list[str], purpose: EmbeddingPurpose) -> list[Vector]:
        """Embed texts in the background, with as many in each request as the endpoint answers quickly."""
        pace = self._paces.of(self._circuit, self._limits.parallel, self._limits.batch_texts)
        vectors: list[Vector] = []
        while len(vectors) < len(texts):
            async with pace.turn():
                paced_vectors: list[Vector] = []
                while not paced_vectors:  # the same turn, with fewer texts
                    await pace.wait_for_pause_end()
                    next_texts = texts[len(vectors) : len(vectors) + pace.texts]
                    paced_vectors = await self._embed_with_retries(next_texts, purpose, None, pace)
            vectors += paced_vectors
        return vectors

    async def _embed_with_retries(
        self, texts: list[str], purpose: EmbeddingPurpose, deadline: float | None, pace: EmbeddingPace | None = None
    ) -> list[Vector]:
        """Return the vectors of one request's texts, after retries, before the caller's ``deadline`` if there is one.

        With a ``pace``, return an empty list if the request timed out and may be repeated with fewer texts. Raises
        ``EmbedderUnavailable`` and ``WrongEmbeddings``.
        """
        loop = asyncio.get_running_loop()
        patient_until = loop.time() + PATIENCE_SECONDS
        last_try_at = min(loop.time() + self._timeout_seconds, deadline or math.inf)
        attempt = cuts = 0
        while True:
            began = loop.time()
            try:
                async with asyncio.timeout_at(last_try_at if pace is None else began + self._timeout_seconds):
                    vectors = await self.ask(texts, purpose)
            except (ProviderFailure, TimeoutError, StreamTooLong, NoEmbeddings) as raised:
                failure = _to_failure(raised)
            else:
                if pace is not None:
                    pace.note_answer(len(texts), began)
                return vectors
            if _is_too_long(failure) and cuts < MAX_CUTS:
                cuts += 1
                longest = max(map(len, texts)) // 2
                texts = [text[:longest].strip() or NOTHING for text in texts]
                continue
            delay = self._backoff.choose_delay(failure, attempt)
            if pace is not None and failure.kind is FailureKind.TIMEOUT:
                pace.note_timeout(len(texts), began)
                if len(texts) > 1:
                    self._log(failure, attempt, is_last=False)
                    return []
                await pace.wait_for_pause_end()
                delay = 0.0  # during the pause the endpoint may have finished the requests that were given up
            elif pace is not None and _is_overload(failure):
                pace.note_refusal(began, failure.retry_after or self._backoff.compute_delay(1))
                if loop.time() < patient_until:
                    self._log(failure, attempt, is_last=False)
                    await pace.wait_for_pause_end()
                    continue
                delay = None
            is_last = attempt == self._max_retries or delay is None
            if pace is None and delay is not None and loop.time() + delay >= last_try_at:
                is_last = True
            self._log(failure, attempt, is_last=is_last)
            if is_last or delay is None:
                # The cause is logged only, because its text may quote the request.
                raise (_RefusedTexts if failure.is_refusal else EmbedderUnavailable) from None
            await asyncio.sleep(delay)
            attempt += 1

    def _log(self, failure: ProviderFailure, attempt: int, *, is_last: bool) -> None:
        message = "The embedder failed" if is_last else "The embedder failed; trying again"
        details = failure.log_fields(self._secret())
        self._logger.warning(message, extra={"model": self._model, "attempt": attempt + 1, **details})
        count(Metric.MODEL_CALLS_FAILED)


def make_unit_vectors(embeddings: Sequence[Sequence[Any]], dimensions: int) -> list[Vector]:
    """Return embeddings as vectors of length 1.

    Raises ``WrongEmbeddings`` if all embeddings have the same number of numbers, which is neither 0 nor ``dimensions``.
    Raises ``NoEmbeddings`` for any other embedding that is not ``dimensions`` numbers with a finite length above 0.
    """
    lengths = {len(numbers) for numbers in embeddings}
    if len(lengths) == 1 and lengths.isdisjoint({0, dimensions}):
        raise WrongEmbeddings.of(lengths.pop(), dimensions)
    return [_make_unit_vector(numbers, dimensions) for numbers in embeddings]


class _RefusedTexts(EmbedderUnavailable):
    """The endpoint answers, but it does not take these texts."""


def _is_outage(error: Exception) -> bool:
    return not isinstance(error, WrongEmbeddings | _RefusedTexts)


def _make_unit_vector(numbers: Sequence[Any], dimensions: int) -> Vector:
    if len(numbers) != dimensions:
        raise NoEmbeddings(f"An embedding has {len(numbers)} numbers, not {dimensions}.")
    if not all(type(number) in (float, int) for number in numbers):
        raise NoEmbeddings("An embedding holds something that is no number.")
    try:
        length = math.hypot(*numbers)
    except OverflowError:  # of an integer
        length = math.inf
    if not math.isfinite(length) or not length:
        raise NoEmbeddings("An embedding is zero, or a number of it is too large or not finite.")
    return tuple(number / length for number in numbers)


def _to_failure(raised: Exception) -> ProviderFailure:
    if isinstance(raised, ProviderFailure):
        return raised
    name = type(raised).__name__
    if isinstance(raised, TimeoutError):
        return ProviderFailure(name, FailureKind.TIMEOUT)
    return ProviderFailure(name, FailureKind.PROTOCOL, text=str(raised))


def _is_overload(failure: ProviderFailure) -> bool:
    """Return whether the endpoint refuses because of its load, so that the same request may succeed soon."""
    if failure.is_final or failure.kind is not FailureKind.ANSWER or (failure.retry_after or 0) > MAX_PAUSE_SECONDS:
        return False
    has_wait = failure.status in (503, 529) and failure.retry_after is not None
    return has_wait or isinstance(failure.error, ModelRateLimited)


def _is_too_long(failure: ProviderFailure) -> bool:
    if failure.kind is not FailureKind.ANSWER or failure.status not in (400, 413, 422):
        return False
    return failure.status == 413 or any(words in failure.words for words in _TOO_LONG)
