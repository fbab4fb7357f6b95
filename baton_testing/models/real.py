"""The model at the endpoint that the environment names, called as in a deployment."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from pydantic import ValidationError

from baton.adapters.aws.secrets import SecretsManager
from baton.composition.models.provider_models import make_provider_models
from baton.domain.definition import get_message
from baton.domain.errors import ModelError
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.documents.files import ThreadFiles
from baton.settings.models import ProviderSettings as EndpointSettings
from baton_local.root import TOKENIZER
from baton_testing.conversation_ports import ModelNames
from baton_testing.errors import CannotRun
from baton_testing.virtual_time import real_time

OPENAI = "https://api.openai.com/v1"


class RealModel:
    """``ports.agents.chat_model.ChatModel`` over the product's adapters. While it works, real time passes."""

    def __init__(self, default: str | None = None) -> None:
        """Read the environment. Raises ``CannotRun`` if it names no model, or a setting of models is wrong.

        ``default`` is the model if the environment names none.
        """
        self.problems: list[str] = []
        self.notes: list[str] = []
        """The endpoint's reasons for failed requests."""
        settings = read_settings(default)
        self.names = ModelNames(settings.chat_model, settings.light_model or settings.chat_model)
        try:
            self._model = make_provider_models(settings, SecretsManager())
        except ValueError as error:
            raise CannotRun(f"{error}.") from None

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the endpoint's answer. Raises ``ModelError``, and adds the reason to ``notes``."""
        stream = self._model.stream(settings, prompts, thread_files=thread_files, tools=tools)
        try:
            async with real_time(), aclosing(stream) as chunks:
                async for chunk in chunks:
                    yield chunk
        except ModelError as failure:
            note = f"{settings.model}: {failure.code}: {failure.reason or failure.detail}"
            if note not in self.notes:
                self.notes.append(note)
            raise

    async def aclose(self) -> None:
        """Close the connections."""
        await self._model.aclose()


def read_settings(default: str | None = None) -> EndpointSettings:
    """Return the settings of models in the environment. Raises ``CannotRun`` if one is missing or wrong.

    ``default`` is the model if the environment names none.
    """
    model = os.environ.get("BATON_CHAT_MODEL") or default
    if not model:
        raise CannotRun(
            "No model is named. Set BATON_CHAT_MODEL, and OPENAI_BASE_URL and OPENAI_API_KEY if the endpoint needs "
            "them; or use --model scripted."
        )
    own: dict[str, Any] = {
        "BATON_CHAT_MODEL": model,
        "TIKTOKEN_CACHE_DIR": str(TOKENIZER),
        "OPENAI_BASE_URL": os.environ.get("OPENAI_BASE_URL") or OPENAI,
    }
    try:
        return EndpointSettings(**own)
    except ValidationError as problem:
        wrong = (
            f"{'.'.join(map(str, error['loc']))}: {get_message(error)}" for error in problem.errors(include_input=False)
        )
        raise CannotRun(f"A setting is wrong. {'; '.join(wrong)}.") from None
