"""One chat model over all providers of a deployment. A model's name selects its provider."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from aws_lambda_powertools import Logger
from pydantic import JsonValue

from baton.adapters.egress.stream_limits import AsyncClosable
from baton.domain import errors
from baton.domain.agents.model_providers import route
from baton.domain.metrics import Metric, count
from baton.ports.agents.chat_model import (
    AnsweredBy,
    ChatModel,
    LearningModel,
    ModelChunk,
    ModelSettings,
    Prompt,
    ToolSpec,
)
from baton.ports.documents.files import ThreadFiles

FALLBACK_ERRORS = (errors.ModelUnavailable, errors.ModelRateLimited, errors.ModelTimeout, errors.OutOfCredit)
"""Failures after which another model is asked, because this one cannot answer any question.

They include an account without credit, because its users cannot change that. They do not include refusals, filters and
overflows, which are about the question, and wrong names and keys, which a fallback would hide.
"""

logger = Logger(child=True)


class ProviderModels:
    """``ports.agents.chat_model.ChatModel`` that passes each call to the provider at the beginning of the model's name.

    A provider's client is made when the first call needs it, outside the event loop, so that a deployment loads only
    the libraries that it uses. If a model cannot answer, the models of ``ModelSettings.fallback`` are asked in order,
    with the same settings, unless a part of an answer has been yielded.
    """

    def __init__(self, make: Mapping[str, Callable[[], ChatModel]], *, shows_reasons: bool = False) -> None:
        """``make`` creates the client of each provider, by the provider's name, or raises ``ValueError``.

        ``shows_reasons`` adds the endpoint's words to errors for users. It is for a developer's machine, because the
        words may quote requests.
        """
        self._providers = {name: _Client(make_client) for name, make_client in make.items()}
        self._shows_reasons = shows_reasons

    def load(self, *models: str) -> None:
        """Create the clients that these models need. Blocks while their libraries load.

        Models without a provider are ignored. Raises ``ValueError`` for a provider that cannot be used.
        """
        for model in models:
            provider = self._providers.get(route(model, self._providers).provider)
            if provider is not None:
                provider.load()

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """See ``ChatModel``. If the fallbacks fail too, the error of the last fallback is raised."""
        models = list(dict.fromkeys((settings.model, *settings.fallback)))
        for model, fallback in zip(models, (*models[1:], None), strict=True):
            is_answering = False
            try:
                provider, name = await self._select_provider(model)
                asked_settings = replace(settings, model=name, fallback=())
                stream = provider.stream(asked_settings, prompts, thread_files=thread_files, tools=tools)
                async with aclosing(stream) as chunks:
                    async for chunk in chunks:
                        if not is_answering and name != settings.model:
                            yield AnsweredBy(name)
                        is_answering = True
                        yield chunk
            except errors.ContextTooLong as failure:
                failure.model = model if model != settings.model else None
                self._add_reason(failure)
                raise
            except FALLBACK_ERRORS as failure:
                if is_answering or fallback is None:
                    self._add_reason(failure)
                    raise
                extra = {"model": model, "error": failure.code, "fallback": fallback}
                logger.warning("The model cannot answer; asking its fallback", extra=extra)
                count(Metric.MODEL_FALLBACKS)
            except errors.ModelError as failure:
                self._add_reason(failure)
                raise
            else:
                return

    def list_learned_facts(self, model: str) -> Mapping[str, JsonValue]:
        """See ``LearningModel``. The result is empty for a provider that no call has needed yet."""
        selected = route(model, self._providers)
        provider = self._providers.get(selected.provider)
        if provider is None or not isinstance(provider.client, LearningModel):
            return {}
        return provider.client.list_learned_facts(selected.model)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        for provider in self._providers.values():
            if isinstance(provider.client, AsyncClosable):
                await provider.client.aclose()

    async def _select_provider(self, name: str) -> tuple[ChatModel, str]:
        """Return the client of the model's provider, and the model's name there.

        Raises ``ModelMisconfigured`` without a usable provider.
        """
        selected = route(name, self._providers)
        provider = self._providers.get(selected.provider)
        try:
            if provider is None:
                raise ValueError(
                    "its name begins with no provider's, and there is no default provider (OPENAI_BASE_URL); "
                    f"there are {', '.join(sorted(self._providers))}"
                )
            return await provider.get(), selected.model
        except ValueError as problem:
            logger.error("The model's provider cannot be used", extra={"model": name, "reason": str(problem)})
            count(Metric.MODEL_CALLS_FAILED)
            error = errors.ModelMisconfigured()
            error.reason = str(problem)
            raise error from None

    def _add_reason(self, failure: errors.ModelError) -> None:
        """Add the endpoint's words to the error, if this deployment shows them."""
        if self._shows_reasons and failure.reason:
            failure.detail = f"{failure.detail} The reason: {failure.reason}"


class _Client:
    """The client of one provider, made at its first use, because loading its library takes half a second."""

    def __init__(self, make: Callable[[], ChatModel]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self.client: ChatModel | None = None

    def load(self) -> ChatModel:
        """Return the client, and make it if needed. Blocks while its library loads."""
        with self._lock:
            if self.client is None:
                self.client = self._make()
            return self.client

    async def get(self) -> ChatModel:
        """Return the client, and make it in a thread if needed."""
        if self.client is not None:
            return self.client
        return await asyncio.to_thread(self.load)
