"""Carry a model call out over one API: attempts, retries, deadlines, the circuit, and other forms after a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace

from ag_ui.core import ImagePart
from aws_lambda_powertools import Logger
from pydantic import JsonValue

from baton.adapters.egress.circuit_breaker import CircuitBreakers, CircuitOpen, Guard
from baton.adapters.egress.stream_limits import StreamTooLong
from baton.adapters.models.learning import MAX_ADAPTATIONS, RequestForm, adapted, content_size
from baton.adapters.models.learning.failure import Backoff, FailureKind, ProviderFailure
from baton.adapters.models.model_api import ModelApi, ModelQuestion, OpenedAnswer, RefusedQuestion
from baton.adapters.models.profiles.known_profiles import Profiles, learned_facts
from baton.adapters.models.profiles.profile import AnswerForm, ModelProfile
from baton.concurrency.tasks import off_loop
from baton.domain.errors import ContextTooLong, ModelError, ModelTimeout, ModelUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.threads.message import Content
from baton.ports.agents.chat_model import Finished, ModelChunk, ModelSettings

logger = Logger(child=True)

MAX_REPEATED_BYTES = 64 * 1024
"""Bytes of an answer that came to nothing. A longer one is not asked for again: it would cost as much."""
USAGE_GRACE_SECONDS = 5.0
"""The longest wait for the token counts after a complete answer."""


PATIENT_SECONDS = 20.0
"""The least time limit after which silence is a sign of an outage. Agents choose their limits."""


class ModelCalls:
    """The calls of one endpoint's models.

    As long as no chunk was yielded, failures that may pass are retried ``max_retries`` times, with back-off and the
    wait that the endpoint asks for, within ``ModelSettings.timeout_seconds``. A refused request is repeated in the form
    that the refusal asks for; a form that is accepted is kept for the model.

    If several answers in a row fail, the tenant's circuit of ``breakers`` opens and its calls raise
    ``ModelUnavailable`` at once. Rate limits, refusals, content filters and short time limits do not count as failures.
    """

    def __init__(
        self,
        api_of: Callable[[ModelProfile], ModelApi],
        profiles: Profiles,
        *,
        endpoint: str,
        max_retries: int,
        backoff: Backoff,
        breakers: CircuitBreakers,
    ) -> None:
        """``api_of`` returns the API that a model is asked over."""
        self._api_of = api_of
        self._profiles = profiles
        self._endpoint = endpoint
        self._max_retries = max_retries
        self._backoff = backoff
        self._breakers = breakers

    async def stream(self, question: ModelQuestion, secret: Callable[[], str]) -> AsyncGenerator[ModelChunk, None]:
        """Yield the answer; see ``ChatModel.stream``. ``secret`` returns the text that logs must not show.

        Close the iterator (``contextlib.aclosing``) to end the HTTP stream before the answer is complete.
        """
        settings = question.settings
        attempt = _Attempt(question, self._profiles.of(settings.model, settings.caller))
        try:
            async with self._guard(settings):
                while True:
                    try:
                        async with asyncio.timeout_at(attempt.deadline):
                            answer = await self._api_of(attempt.form.profile).open(attempt.question, attempt.form)
                        reading = _Reading(self._profiles, question, attempt, answer)
                        async with aclosing(answer):
                            while (chunks := await reading.next()) is not None:
                                for chunk in chunks:
                                    attempt.is_answering = True
                                    yield chunk
                            last = reading.end()
                        for chunk in last:
                            yield chunk
                        return
                    except (RefusedQuestion, ProviderFailure, ModelError, TimeoutError) as failure:
                        pause = await self._pause_after(failure, attempt, settings.model, secret)
                    await asyncio.sleep(pause)
        except CircuitOpen as left_alone:
            logger.warning("The model is not asked", extra={"model": settings.model, "text": str(left_alone)})
            count(Metric.MODEL_CALLS_FAILED)
            unavailable = ModelUnavailable()
            unavailable.reason = str(left_alone)
            raise unavailable from None

    def _guard(self, settings: ModelSettings) -> Guard:
        """Return the guard of a call. Silence says nothing if the caller's limit is shorter than models may think."""
        caller = settings.caller
        is_patient = caller is None or settings.timeout_seconds >= PATIENT_SECONDS
        return self._breakers.guard(
            f"{self._endpoint} {settings.model}",
            tenant_id=caller.tenant_id if caller is not None else None,
            conversation=caller.thread_id if caller is not None else None,
            is_failure=lambda error: _is_outage(error) if is_patient or not isinstance(error, ModelTimeout) else None,
        )

    def learned(self, model: str) -> dict[str, JsonValue]:
        """See ``LearningModel``."""
        return learned_facts(self._profiles.declared(model), self._profiles.of(model))

    async def _pause_after(self, error: Exception, attempt: _Attempt, model: str, secret: Callable[[], str]) -> float:
        """Return the seconds until the next attempt, or raise the error that ends the call."""
        now = asyncio.get_running_loop().time()
        failure = _failure_of(error)
        if isinstance(error, RefusedQuestion) and await attempt.adapts(error, now):
            self._log(failure, model, attempt.number, "The model refused; asking in another form", secret)
            return 0.0
        if isinstance(error, ModelError) and not _is_outage(error):
            self._log(failure, model, attempt.number, "The model failed", secret)
            raise error
        delay = self._backoff.before_retry(failure, attempt.number)
        is_junk = failure.kind is FailureKind.PROTOCOL and attempt.size > MAX_REPEATED_BYTES
        is_last = attempt.is_answering or is_junk or attempt.number == self._max_retries or delay is None
        if is_last or delay is None or now + delay >= attempt.deadline:
            self._log(failure, model, attempt.number, "The model failed", secret)
            # Its text may quote the request, so the cause is for the log and for operators only.
            raise _for_operators(failure, secret) from None
        self._log(failure, model, attempt.number, "The model failed; trying again", secret)
        attempt.number += 1
        return delay

    def _log(self, failure: ProviderFailure, model: str, attempt: int, message: str, secret: Callable[[], str]) -> None:
        details = failure.described(secret())
        logger.warning(message, extra={"model": model, "attempt": attempt + 1, **details})
        count(Metric.MODEL_CALLS_FAILED)


class _Attempt:
    """The current attempt at a call, and the form of its request."""

    def __init__(self, question: ModelQuestion, profile: ModelProfile) -> None:
        """``profile`` is what is known of the model. All attempts begin within the time limit of the question."""
        self.profile = profile
        self.form = RequestForm(profile)
        self.deadline = asyncio.get_running_loop().time() + question.settings.timeout_seconds
        self._question = question
        self.number = 0
        self.size = 0
        """Bytes of the answer that is read."""
        self.is_answering = False
        """True if a part of the answer was yielded. Then there is no other attempt."""
        self._adaptations = 0

    @property
    def question(self) -> ModelQuestion:
        """The question without the values of settings that the model refuses."""
        return replace(self._question, settings=without_refused(self._question.settings, self.form.profile))

    async def adapts(self, refused: RefusedQuestion, now: float) -> bool:
        """Take the form that the refusal asks for. Returns False if there is none, or no time for it."""
        if self.is_answering or self._adaptations >= MAX_ADAPTATIONS or now >= self.deadline:
            return False
        sent, settings = refused.sent, self._question.settings
        other = await off_loop(content_size(sent), adapted, self.form, refused.failure, sent, settings)
        if other is None:
            return False
        self._adaptations += 1
        self.form = other
        return True


class _Reading:
    """A reader of one answer within its deadlines.

    It learns how the form of the answer differs from the model's profile.
    """

    def __init__(self, profiles: Profiles, question: ModelQuestion, attempt: _Attempt, answer: OpenedAnswer) -> None:
        self._profiles = profiles
        self._question = question
        self._form = attempt.form
        self._known = attempt.profile
        self._attempt = attempt
        self._answer = answer
        self._deadline = attempt.deadline
        self._extension: float | None = None
        """Seconds that the answer has from the next read on; None: until the deadline."""
        self._is_empty = True

    async def next(self) -> Sequence[ModelChunk] | None:
        """Return the next chunks; None after the last ones of the stream.

        Raises ``RefusedQuestion``, ``ProviderFailure``, ``ModelError`` and ``TimeoutError``.
        """
        answer = self._answer
        if answer.is_cut:
            return None
        if self._extension is not None:  # from now on, because the reader may have taken its time
            self._deadline, self._extension = asyncio.get_running_loop().time() + self._extension, None
        was_finished, size = answer.reason is not None, answer.size
        try:
            async with asyncio.timeout_at(self._deadline):
                chunks = await answer.next()
        except StreamTooLong as too_long:
            logger.warning("The model's stream is cut", extra={"text": str(too_long)})
            count(Metric.MODEL_CALLS_FAILED)
            if not answer.size:
                # Another answer would cost as much, and be no shorter.
                raise ProviderFailure(
                    "StreamTooLong", FailureKind.PROTOCOL, text=str(too_long), is_final=True
                ) from None
            answer.cut()
            return None
        except (ProviderFailure, TimeoutError) as failure:
            if answer.reason is not None:
                return None  # The answer is complete. Only its token counts are missing.
            if isinstance(failure, ProviderFailure) and self._is_empty:
                raise RefusedQuestion(failure, answer.sent) from None
            if isinstance(failure, ProviderFailure) and isinstance(failure.error, ContextTooLong):
                answer.cut()  # the answer has filled the context: a shorter prompt would repeat what was shown
                return None
            raise
        self._attempt.size = answer.size
        if chunks:
            self._accept()
        if answer.size > size:
            self._extension = self._question.settings.timeout_seconds
        if answer.reason is not None and not was_finished:
            self._extension = USAGE_GRACE_SECONDS
        return chunks

    def end(self) -> Sequence[ModelChunk]:
        """Return the last chunks. Raises ``ModelUnavailable`` for an answer without its end."""
        chunks = list(self._answer.end())
        for at, chunk in enumerate(chunks):
            if isinstance(chunk, Finished):
                self._accept()
                self._learn_from_answer()
                chunks[at] = _with_dropped(chunk, self._question, self._form)
        return chunks

    def _accept(self) -> None:
        """Keep the form for later requests, because the model has begun to answer it."""
        if self._is_empty:
            self._is_empty = False
            self._learn(self._form)

    def _learn_from_answer(self) -> None:
        """Keep what the words of the answer show for this user: a user may have asked for such words."""
        form, settings = self._answer.learned(self._form), self._question.settings
        self._profiles.learn(settings.model, form.profile, self._form.profile, settings.caller, is_users=True)

    def _learn(self, form: RequestForm) -> None:
        settings = self._question.settings
        is_users = any(tool.is_client for tool in self._question.tools)
        profile = form.lasting(self._known)
        self._profiles.learn(settings.model, profile, self._known, settings.caller, is_users=is_users)


def _failure_of(error: Exception) -> ProviderFailure:
    """Return the failure as it is logged."""
    if isinstance(error, RefusedQuestion):
        return error.failure
    if isinstance(error, ProviderFailure):
        return error
    if isinstance(error, TimeoutError):
        return ProviderFailure("TimeoutError", FailureKind.TIMEOUT)
    return ProviderFailure(type(error).__name__, FailureKind.PROTOCOL)


def _for_operators(failure: ProviderFailure, secret: Callable[[], str]) -> ModelError:
    """Return the error with the reason that the endpoint gave."""
    error = failure.error
    error.reason = str(failure.described(secret())["text"]) or failure.name
    return error


def _with_dropped(finished: Finished, question: ModelQuestion, form: RequestForm) -> Finished:
    """Return the end of an answer with the names of everything that its model did not get."""
    contents = [prompt.content for prompt in question.prompts]
    names = left_out(question.settings, contents, question.attachments.media_types, form.profile)
    refused = refused_settings(question.settings, form.profile)
    return replace(finished, dropped=tuple(sorted({*finished.dropped, *names, *refused})))


def _is_outage(error: Exception) -> bool:
    return isinstance(error, ModelUnavailable | ModelTimeout)


def refused_settings(settings: ModelSettings, profile: ModelProfile) -> frozenset[str]:
    """Return the names of settings whose values the model refuses."""
    return frozenset(name for name, value in profile.refused_values if repr(getattr(settings, name)) == value)


def without_refused(settings: ModelSettings, profile: ModelProfile) -> ModelSettings:
    """Return the settings without the values that the model refuses."""
    return replace(settings, **dict.fromkeys(refused_settings(settings, profile)))  # type: ignore[arg-type]  # to None


READ_BY_MOST = ModelProfile().documents
"""Media types of documents that models usually read themselves. Others are extracted for every model."""


def left_out(
    settings: ModelSettings, contents: Iterable[Content], media_types: Collection[str], profile: ModelProfile
) -> frozenset[str]:
    """Return ``images``, ``documents`` and ``answer_schema``, as far as the profile keeps them from the model.

    ``media_types`` are those of the attachments that were read. A document counts if the model gets its text only, and
    a schema if the model finds it in the prompt only.
    """
    names: set[str] = set()
    if not profile.images and (
        any(media_type.startswith("image/") for media_type in media_types) or any(map(_has_image, contents))
    ):
        names.add("images")
    if (READ_BY_MOST - profile.documents) & set(media_types):
        names.add("documents")
    if settings.answer_schema is not None and profile.answer_form is not AnswerForm.SCHEMA:
        names.add("answer_schema")
    return frozenset(names)


def _has_image(content: Content) -> bool:
    return not isinstance(content, str) and any(isinstance(part, ImagePart) for part in content)
