"""The clients of the current model providers, which are replaced when providers or profiles in the settings change."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import lru_cache
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger

from baton.composition import parts
from baton.domain.metrics import Metric, count
from baton.failures.reports import in_background

if TYPE_CHECKING:
    from pydantic import JsonValue

    from baton.ports.agents import chat_model

logger = Logger(child=True)


class CurrentModels:
    """``ports.agents.chat_model.ChatModel`` with the providers that are in the settings now.

    An answer in progress keeps the clients with which it began. Replaced clients are closed when no answer needs them
    any more. If new providers or profiles cannot be used, the problem is logged and counted, and the previous clients
    stay in use. Without previous clients, ``ValueError`` is raised.
    """

    def __init__(self, document: Callable[[], parts.SettingsDocument], secrets: parts.SecretsManager) -> None:
        self._document = document
        self._secrets = secrets
        self._latest: tuple[parts.SettingsDocument, _Models] | None = None
        self._replaced: list[_Models] = []
        """Earlier clients whose connections may still be open. Only code on the event loop removes them."""

    @property
    def settings(self) -> parts.ProviderSettings:
        """The current settings of the model endpoints."""
        return self._find_current().settings

    def find_context_limit(self, model: str) -> int | None:
        """Return the declared limit of a model's prompts, in tokens; None without a declaration."""
        return self._find_current().find_context_limit(model)

    def load(self, *models: str) -> None:
        """Create the clients that these models need. This blocks while libraries are loaded."""
        self._find_current().clients.load(*models)

    async def stream(
        self,
        settings: chat_model.ModelSettings,
        prompts: Sequence[chat_model.Prompt],
        *,
        thread_files: parts.ThreadFiles,
        tools: Sequence[chat_model.ToolSpec] = (),
    ) -> AsyncGenerator[chat_model.ModelChunk, None]:
        """See ``ChatModel``."""
        models = self._find_current()
        models.is_connected = True
        models.answers += 1
        try:
            stream = models.clients.stream(settings, prompts, thread_files=thread_files, tools=tools)
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            models.answers -= 1
            self._close_unused()

    def list_learned_facts(self, model: str) -> Mapping[str, JsonValue]:
        """See ``LearningModel``."""
        return self._find_current().clients.list_learned_facts(model)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        for models in (*self._replaced, self._find_current()):
            await models.clients.aclose()

    def _close_unused(self) -> None:
        for models in [models for models in self._replaced if not models.answers]:
            self._replaced.remove(models)
            in_background(models.clients.aclose(), "closing of replaced clients of models")

    def _find_current(self) -> _Models:
        document, latest = self._document(), self._latest
        if latest is not None and latest[0] is document:
            return latest[1]
        try:
            models = _Models.of(document, self._secrets, latest[1] if latest is not None else None)
        except ValueError as error:
            if latest is None:
                raise
            logger.error("The providers of models stay as they were", extra={"reason": str(error)})
            count(Metric.SETTINGS_UNREADABLE)
            models = latest[1]
        if latest is not None and latest[1] is not models and latest[1].is_connected:
            self._replaced.append(latest[1])
        self._latest = (document, models)
        return models


class _Models:
    """The clients of one state of the settings."""

    def __init__(self, settings: parts.ProviderSettings, clients: parts.ProviderModels) -> None:
        self.settings = settings
        self.clients = clients
        self.is_connected = False
        """True once a request has been made."""
        self.answers = 0
        """The number of answers in progress."""
        lengths = parts.make_context_lengths(settings.providers, parts.read_profile_overrides(settings.model_profiles))
        self.find_context_limit = lru_cache(maxsize=1_000)(lengths)  # bounded, because tenants choose models' names

    @classmethod
    def of(cls, document: parts.SettingsDocument, secrets: parts.SecretsManager, before: _Models | None) -> _Models:
        """Return the models of a settings document, or ``before`` if its settings are the same.

        Raises ``ValueError`` for settings that cannot be used.
        """
        from baton.composition.models.provider_models import make_deployed_models

        settings = parts.ProviderSettings(
            BATON_MODEL_PROVIDERS=document.model_providers, BATON_MODEL_PROFILES=document.model_profiles
        )
        if before is not None and before.settings == settings:
            return before
        return cls(settings, make_deployed_models(settings, secrets))
