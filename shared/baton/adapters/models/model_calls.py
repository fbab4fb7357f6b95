"""A chat model over one API: attempts, retries, deadlines, the circuit, and other forms after a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from aws_lambda_powertools import Logger
from cachetools import LRUCache
from pydantic import JsonValue

from baton.adapters.egress.circuit_breaker import CircuitBreakers, CircuitOpen, Guard
from baton.adapters.egress.stream_limits import StreamTooLong
from baton.adapters.models.answers.answer_so_far import FORBIDDEN_CALLS, AnswerSoFar
from baton.adapters.models.attachments.laid_out_attachments import Attachments
from baton.adapters.models.failures.failure import Backoff, FailureKind, ProviderFailure
from baton.adapters.models.learning.adaptation import MAX_ADAPTATIONS, adapt_form
from baton.adapters.models.learning.refusal import measure_content
from baton.adapters.models.learning.request_form import RequestForm
from baton.adapters.models.profiles.known_profiles import MAX_PROFILES, Profiles, list_learned_facts
from baton.adapters.models.profiles.profile import ModelProfile
from baton.adapters.models.question import ModelQuestion, RefusedQuestion, find_lost_parts, without_refused
from baton.concurrency.tasks import off_loop
from baton.domain.errors import ContextTooLong, ModelError, ModelTimeout, ModelUnavailable
from baton.domain.metrics import Metric, count
from baton.ports.agents.chat_model import Finished, ModelCaller, ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.documents.documents import DocumentReader
from baton.ports.documents.files import ThreadFiles

logger = Logger(child=True)

MAX_REPEATED_BYTES = 64 * 1024
"""The maximum size of an unusable answer after which the model is asked again, in bytes. Longer ones cost too much."""
USAGE_GRACE_SECONDS = 5.0
"""The longest wait for the token counts after a complete answer."""
PATIENT_SECONDS = 20.0
"""The minimum time limit, in seconds, at which a time-out is a sign of an outage. Agents choose their limits."""


class ModelApi(Protocol):
    """One API of models."""

    async def open(self, question: ModelQuestion, form: RequestForm) -> AnswerSoFar:
        """Send the request and return its answer. Raises ``RefusedQuestion``, ``ProviderFailure`` and time-outs."""


class ApiChatModel:
    """``ports.agents.chat_model.ChatModel`` of one endpoint's models.

    As long as no chunk was yielded, transient failures are retried at most ``max_retries`` times, with back-off or the
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
        reader: DocumentReader | None,
        secret: Callable[[], str] = str,
    ) -> None:
        """``api_of`` returns the API over which a model is called. Logs leave out the text that ``secret`` returns.

        ``reader`` reads documents that a model does not take.
        """
        self._api_of = api_of
        self._profiles = profiles
        self._endpoint = endpoint
        self._max_retries = max_retries
        self._backoff = backoff
        self._breakers = breakers
        self._reader = reader
        self._secret = secret
        self._insistent_models: LRUCache[tuple[ModelCaller | None, str], bool] = LRUCache(MAX_PROFILES)
        """Callers and models with which the model called tools instead of answering, although it might call none."""

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """See ``ChatModel``. Close the iterator (``contextlib.aclosing``) to end the stream before the answer ends."""
        question = ModelQuestion(settings, prompts, tools, Attachments(thread_files, self._reader))
        attempt = _Attempt(question, self._profiles.of(settings.model, settings.caller))
        try:
            async with self._make_guard(settings):
                while True:
                    try:
                        async with asyncio.timeout_at(attempt.deadline):
                            api = self._api_of(attempt.form.profile)
                            answer = await api.open(self._make_question(attempt), attempt.form)
                        reader = _AnswerReader(self._profiles, attempt, answer)
                        async with aclosing(answer):
                            while (chunks := await reader.read_next()) is not None:
                                for chunk in chunks:
                                    attempt.is_answering = True
                                    yield chunk
                            last = reader.end()
                        for chunk in last:
                            yield chunk
                        return
                    except (RefusedQuestion, ProviderFailure, ModelError, TimeoutError) as failure:
                        pause = await self._prepare_retry(failure, attempt, settings)
                    await asyncio.sleep(pause)
        except CircuitOpen as circuit_open:
            logger.warning("The model is not asked", extra={"model": settings.model, "text": str(circuit_open)})
            count(Metric.MODEL_CALLS_FAILED)
            unavailable = ModelUnavailable()
            unavailable.reason = str(circuit_open)
            raise unavailable from None

    def _make_question(self, attempt: _Attempt) -> ModelQuestion:
        settings = without_refused(attempt.question.settings, attempt.form.profile)
        hides_tools = settings.tool_choice == "none" and (settings.caller, settings.model) in self._insistent_models
        return replace(attempt.question, settings=settings, hides_tools=hides_tools)

    def _make_guard(self, settings: ModelSettings) -> Guard:
        """Return the circuit's guard of a call. A time-out counts only if the caller's limit lets a model think."""
        caller = settings.caller
        is_patient = caller is None or settings.timeout_seconds >= PATIENT_SECONDS
        return self._breakers.guard(
            f"{self._endpoint} {settings.model}",
            tenant_id=caller.tenant_id if caller is not None else None,
            conversation=caller.thread_id if caller is not None else None,
            is_failure=lambda error: _is_outage(error) if is_patient or not isinstance(error, ModelTimeout) else None,
        )

    def list_learned_facts(self, model: str) -> Mapping[str, JsonValue]:
        """See ``LearningModel``."""
        return list_learned_facts(self._profiles.find_declared(model), self._profiles.of(model))

    async def _prepare_retry(self, error: Exception, attempt: _Attempt, settings: ModelSettings) -> float:
        """Prepare the next attempt and return the seconds until it, or raise the error that ends the call."""
        now = asyncio.get_running_loop().time()
        failure, model = _to_failure(error), settings.model
        if failure.name == FORBIDDEN_CALLS:
            self._insistent_models[settings.caller, model] = True
        if isinstance(error, RefusedQuestion) and await attempt.adapt(error, now):
            self._log(failure, model, attempt.number, "The model refused; asking in another form")
            return 0.0
        if isinstance(error, ModelError) and not _is_outage(error):
            self._log(failure, model, attempt.number, "The model failed")
            raise error
        delay = self._backoff.choose_delay(failure, attempt.number)
        is_junk = failure.kind is FailureKind.PROTOCOL and attempt.size > MAX_REPEATED_BYTES
        is_last = attempt.is_answering or is_junk or attempt.number == self._max_retries or delay is None
        if is_last or delay is None or now + delay >= attempt.deadline:
            self._log(failure, model, attempt.number, "The model failed")
            # The endpoint's text may quote the request, so only the log and operators get it.
            final = failure.error
            final.reason = str(failure.log_fields(self._secret())["text"]) or failure.name
            raise final from None
        self._log(failure, model, attempt.number, "The model failed; trying again")
        attempt.number += 1
        attempt.size = 0
        return delay

    def _log(self, failure: ProviderFailure, model: str, attempt: int, message: str) -> None:
        details = failure.log_fields(self._secret())
        logger.warning(message, extra={"model": model, "attempt": attempt + 1, **details})
        count(Metric.MODEL_CALLS_FAILED)


class _Attempt:
    """The current attempt at a call, and the form of its request."""

    def __init__(self, question: ModelQuestion, profile: ModelProfile) -> None:
        """``profile`` has the known facts of the model. All attempts begin within the time limit of the question."""
        self.profile = profile
        self.form = RequestForm(profile)
        self.deadline = asyncio.get_running_loop().time() + question.settings.timeout_seconds
        self.question = question
        self.number = 0
        """The number of retries so far, without repetitions in another form."""
        self.size = 0
        """The bytes of this attempt's answer that were read so far."""
        self.is_answering = False
        """Whether a part of the answer was yielded. Then there is no other attempt."""
        self._adaptations = 0

    async def adapt(self, refused: RefusedQuestion, now: float) -> bool:
        """Switch to the form that the refusal asks for.

        Return False if there is no such form, or if the call may make no further request.
        """
        if self.is_answering or self._adaptations >= MAX_ADAPTATIONS or now >= self.deadline:
            return False
        sent, settings = refused.sent, self.question.settings
        other = await off_loop(measure_content(sent), adapt_form, self.form, refused.failure, sent, settings)
        if other is None:
            return False
        self._adaptations += 1
        self.form = other
        return True


class _AnswerReader:
    """A reader of one answer within its deadlines. It learns how the answer's form differs from the model's profile."""

    def __init__(self, profiles: Profiles, attempt: _Attempt, answer: AnswerSoFar) -> None:
        self._profiles = profiles
        self._attempt = attempt
        self._question = attempt.question
        self._answer = answer
        self._deadline = attempt.deadline
        self._extension: float | None = None
        """The seconds that the answer has from the next read on; None to keep the deadline."""
        self._is_empty = True

    async def read_next(self) -> Sequence[ModelChunk] | None:
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
                chunks = await answer.read_next()
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
                answer.cut()  # the answer has filled the context; another try would repeat what clients have seen
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
        """Return the last chunks, and learn facts from a complete answer. Raises as ``AnswerSoFar.end`` does."""
        chunks = list(self._answer.end())
        for index, chunk in enumerate(chunks):
            if isinstance(chunk, Finished):
                self._accept()
                profile = self._attempt.form.profile
                # The fact holds for this user only, who may have asked for such words.
                self._learn(self._answer.add_learned_facts(profile), profile, is_for_user=True)
                chunks[index] = replace(
                    chunk, dropped=tuple(sorted({*chunk.dropped, *find_lost_parts(self._question, profile)}))
                )
        return chunks

    def _accept(self) -> None:
        """Keep the form for later requests, because the model has begun to answer it."""
        if self._is_empty:
            self._is_empty = False
            is_for_user = any(tool.is_client for tool in self._question.tools)
            self._learn(
                self._attempt.form.make_lasting_profile(self._attempt.profile),
                self._attempt.profile,
                is_for_user=is_for_user,
            )

    def _learn(self, profile: ModelProfile, since: ModelProfile, *, is_for_user: bool) -> None:
        """See ``Profiles.learn``."""
        settings = self._question.settings
        self._profiles.learn(settings.model, profile, since, settings.caller, is_for_user=is_for_user)


def _to_failure(error: Exception) -> ProviderFailure:
    """Return the failure that an error of an attempt means, for the log and the retry."""
    if isinstance(error, RefusedQuestion):
        return error.failure
    if isinstance(error, ProviderFailure):
        return error
    if isinstance(error, TimeoutError):
        return ProviderFailure("TimeoutError", FailureKind.TIMEOUT)
    return ProviderFailure(type(error).__name__, FailureKind.PROTOCOL)


def _is_outage(error: Exception) -> bool:
    return isinstance(error, ModelUnavailable | ModelTimeout)
