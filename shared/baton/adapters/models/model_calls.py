"""Carry a model call out over one API: attempts, retries, deadlines, the circuit, and other forms after a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from aws_lambda_powertools import Logger
from pydantic import JsonValue

from baton.adapters.circuit_breaker import CircuitBreakers, CircuitOpen
from baton.adapters.models.attachments import Attachments
from baton.adapters.models.failure import Backoff, FailureKind, ProviderFailure
from baton.adapters.models.learned_facts import learned_facts
from baton.adapters.models.learning import MAX_ADAPTATIONS, RequestForm, SentFeatures, adapted
from baton.adapters.models.left_out import left_out
from baton.adapters.models.profile import ModelProfile
from baton.adapters.models.profiles import Profiles
from baton.adapters.stream_limits import StreamTooLong
from baton.domain.errors import ContextTooLong, ModelError, ModelTimeout, ModelUnavailable
from baton.domain.metrics import Metric, count
from baton.ports.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, ToolSpec

USAGE_GRACE_SECONDS = 5.0
"""The longest wait for the token counts after a complete answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a model."""

    settings: ModelSettings
    prompts: Sequence[Prompt]
    tools: Sequence[ToolSpec]
    attachments: Attachments


class OpenedAnswer(Protocol):
    """An answer that arrives."""

    @property
    def sent(self) -> SentFeatures:
        """The optional parts of the request."""
        ...

    @property
    def size(self) -> int:
        """Bytes of the model's output so far: text, calls and thinking."""
        ...

    @property
    def reason(self) -> FinishReason | None:
        """Why the model stopped; None until it has."""
        ...

    @property
    def is_cut(self) -> bool:
        """True if the answer was cut at its length limit. The rest is not read."""
        ...

    async def next(self) -> Sequence[ModelChunk] | None:
        """Return what the next event of the stream holds; None at its end.

        Raises ``ProviderFailure`` and ``ModelError``.
        """
        ...

    def cut(self) -> None:
        """End the answer here, as one that is too long."""
        ...

    def end(self) -> Sequence[ModelChunk]:
        """Return the tool calls and ``Finished``. Raises ``ModelUnavailable`` for an answer without its end."""
        ...

    def learned(self, form: RequestForm) -> RequestForm:
        """Return the form of later requests, with what this answer has shown."""
        ...

    async def aclose(self) -> None:
        """Close the stream."""
        ...


class ModelApi(Protocol):
    """One API of models."""

    async def open(self, question: Question, form: RequestForm) -> OpenedAnswer:
        """Send the request and return its answer. Raises ``Refused`` and ``ProviderFailure``, and may time out."""
        ...


class Refused(Exception):
    """An endpoint refused a request that held ``sent``."""

    def __init__(self, failure: ProviderFailure, sent: SentFeatures) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.sent = sent


class ModelCalls:
    """The calls of one endpoint's models.

    As long as no chunk was yielded, failures that may pass are retried ``max_retries`` times, with back-off and the
    wait that the endpoint asks for, within ``ModelSettings.timeout_seconds``. A refused request is repeated in the form
    that the refusal asks for; a form that is accepted is kept for the model.

    If several answers in a row fail, the circuit of ``breakers`` opens and calls raise ``ModelUnavailable`` at once.
    Rate limits, refusals and content filters do not count as failures.
    """

    def __init__(
        self,
        api: ModelApi,
        profiles: Profiles,
        *,
        endpoint: str,
        max_retries: int,
        backoff: Backoff,
        breakers: CircuitBreakers,
    ) -> None:
        self._api = api
        self._profiles = profiles
        self._endpoint = endpoint
        self._max_retries = max_retries
        self._backoff = backoff
        self._breakers = breakers
        self._logger = Logger(child=True)

    async def stream(self, question: Question, secret: Callable[[], str]) -> AsyncGenerator[ModelChunk, None]:
        """Yield the answer; see ``ChatModel.stream``. What ``secret`` returns is left out of logs."""
        model = question.settings.model
        try:
            async with (
                self._breakers.guard(f"{self._endpoint} {model}", is_failure=_is_outage),
                aclosing(self._attempts(question, secret)) as chunks,
            ):
                async for chunk in chunks:
                    yield chunk
        except CircuitOpen as left_alone:
            self._logger.warning("The model is not asked", extra={"model": model, "text": str(left_alone)})
            count(Metric.MODEL_CALLS_FAILED)
            unavailable = ModelUnavailable()
            unavailable.reason = str(left_alone)
            raise unavailable from None

    def learned(self, model: str) -> dict[str, JsonValue]:
        """See ``LearningModel``."""
        return learned_facts(self._profiles.declared(model), self._profiles.of(model))

    async def _attempts(self, question: Question, secret: Callable[[], str]) -> AsyncGenerator[ModelChunk, None]:
        settings = question.settings
        loop = asyncio.get_running_loop()
        deadline = loop.time() + settings.timeout_seconds
        known = self._profiles.of(settings.model)
        form = RequestForm(known)
        attempt = adaptations = 0
        while True:
            answering = False
            try:
                async with aclosing(self._answer(question, form, known, deadline)) as chunks:
                    async for chunk in chunks:
                        answering = True
                        yield chunk
                return
            except Refused as refused:
                failure, sent = refused.failure, refused.sent
                other = adapted(form, failure, sent) if not answering else None
                if other is not None and adaptations < MAX_ADAPTATIONS and loop.time() < deadline:
                    adaptations += 1
                    self._log(failure, settings.model, attempt, "The model refused; asking in another form", secret)
                    form = other
                    continue
            except TimeoutError:
                failure = ProviderFailure("TimeoutError", FailureKind.TIMEOUT)
            except ProviderFailure as failed:
                failure = failed
            except ModelError as error:
                failure = ProviderFailure(type(error).__name__, FailureKind.PROTOCOL)
                if not isinstance(error, ModelUnavailable | ModelTimeout):
                    self._log(failure, settings.model, attempt, "The model failed", secret)
                    raise
            delay = self._backoff.before_retry(failure, attempt)
            is_last = answering or attempt == self._max_retries or delay is None or loop.time() + delay >= deadline
            message = "The model failed" if is_last else "The model failed; trying again"
            self._log(failure, settings.model, attempt, message, secret)
            if is_last or delay is None:
                # Its text may quote the request, so the cause is for the log and for operators only.
                raise _for_operators(failure, secret) from None
            attempt += 1
            await asyncio.sleep(delay)

    async def _answer(
        self, question: Question, form: RequestForm, since: ModelProfile, deadline: float
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield one answer. What its ``form`` has other than the profile ``since`` is learned once it is accepted."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout_at(deadline):
            answer = await self._api.open(question, form)
        is_empty = True
        try:
            while not answer.is_cut:
                was_finished, size = answer.reason is not None, answer.size
                try:
                    # The timeout must not span a yield: it would cancel the consumer.
                    async with asyncio.timeout_at(deadline):
                        chunks = await answer.next()
                except StreamTooLong as too_long:
                    self._logger.warning("The model's stream is cut", extra={"text": str(too_long)})
                    count(Metric.MODEL_CALLS_FAILED)
                    if not answer.size:
                        raise ModelUnavailable from None
                    answer.cut()
                    break
                except (ProviderFailure, TimeoutError) as failure:
                    if answer.reason is not None:
                        break  # The answer is complete. Only its token counts are missing.
                    if isinstance(failure, ProviderFailure) and is_empty:
                        raise Refused(failure, answer.sent) from None
                    if isinstance(failure, ProviderFailure) and isinstance(failure.error, ContextTooLong):
                        answer.cut()  # the answer has filled the context: a shorter prompt would repeat what was shown
                        break
                    raise
                if chunks is None:
                    break
                for chunk in chunks:
                    if is_empty:
                        is_empty = False
                        self._profiles.learn(question.settings.model, form.lasting(since), since)
                    yield chunk
                if answer.size > size:
                    deadline = loop.time() + question.settings.timeout_seconds
                if answer.reason is not None and not was_finished:
                    deadline = loop.time() + USAGE_GRACE_SECONDS
            last = answer.end()
        finally:
            await answer.aclose()
        for chunk in last:
            if isinstance(chunk, Finished):
                self._profiles.learn(question.settings.model, answer.learned(form).lasting(since), since)
                chunk = _with_dropped(chunk, question, form)
            yield chunk

    def _log(self, failure: ProviderFailure, model: str, attempt: int, message: str, secret: Callable[[], str]) -> None:
        details = failure.described(secret())
        self._logger.warning(message, extra={"model": model, "attempt": attempt + 1, **details})
        count(Metric.MODEL_CALLS_FAILED)


def _for_operators(failure: ProviderFailure, secret: Callable[[], str]) -> ModelError:
    """Return the error with the reason that the endpoint gave."""
    error = failure.error
    error.reason = str(failure.described(secret())["text"]) or failure.name
    return error


def _with_dropped(finished: Finished, question: Question, form: RequestForm) -> Finished:
    """Return the end of an answer with the names of everything that its model did not get."""
    contents = [prompt.content for prompt in question.prompts]
    names = left_out(question.settings, contents, question.attachments.media_types, form.profile)
    return replace(finished, dropped=tuple(sorted({*finished.dropped, *names})))


def _is_outage(error: Exception) -> bool:
    return isinstance(error, ModelUnavailable | ModelTimeout)
