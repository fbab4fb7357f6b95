"""A chat model behind an endpoint with OpenAI's APIs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx2 as httpx
from openai import Timeout
from pydantic import JsonValue

from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.models.attachments.laid_out_attachments import Attachments
from baton.adapters.models.learning.failure import Backoff
from baton.adapters.models.model_api import ModelQuestion
from baton.adapters.models.model_calls import ModelCalls
from baton.adapters.models.openai.chat_completions import ChatCompletions
from baton.adapters.models.openai.clients import Endpoint, OpenAIClients
from baton.adapters.models.openai.responses import Responses
from baton.adapters.models.profiles.known_profiles import Profiles, host_of
from baton.adapters.models.profiles.profile import Api, CacheHints
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.documents.documents import DocumentReader
from baton.ports.documents.files import ThreadFiles

if TYPE_CHECKING:
    from baton.adapters.models.openai.aws_signing import AwsSigning


class OpenAIChatModel:
    """``ports.agents.chat_model.ChatModel`` over Chat Completions or Responses of any base URL.

    The model's profile decides which of the two is spoken. Attempts, retries and the circuit are those of
    ``ModelCalls``. The SDK's own retries are off, because they end where the stream begins.

    The client is created with the first request, one for each event loop. ``api_key`` may be an async callable, which
    is called before each request; its errors are passed on. With ``sends_metadata`` each request says what it is about
    in the field ``metadata``, which some endpoints refuse. ``cache_hints`` and ``profiles`` replace what is declared.
    ``reader`` reads documents that a model does not take. With ``signing``, requests to Amazon Bedrock are signed with
    the role of the function, and there is no key.
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
        cache_hints: CacheHints | None = None,
        profiles: Mapping[str, Mapping[str, Any]] | None = None,
        reader: DocumentReader | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        signing: AwsSigning | None = None,
    ) -> None:
        self._reader = reader
        base_url = base_url or (signing.address if signing is not None else None)
        # ModelCalls enforces the timeout, because a gateway's keep-alive comments reset the SDK's read timeout.
        self._clients = OpenAIClients(
            api_key, base_url, Timeout(None, connect=connect_timeout_seconds), transport=transport, signing=signing
        )
        endpoint = Endpoint(self._clients.get, host_of(base_url), sends_metadata, cache_hints)
        chat, responses = ChatCompletions(endpoint), Responses(endpoint)
        self._calls = ModelCalls(
            lambda profile: responses if profile.api is Api.RESPONSES else chat,
            Profiles(endpoint.host, profiles),
            endpoint=base_url or "OpenAI",
            max_retries=max_retries,
            backoff=Backoff(backoff_seconds),
            breakers=breakers or CircuitBreakers(),
        )

    def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """See ``ChatModel``."""
        question = ModelQuestion(settings, prompts, tools, Attachments(thread_files, self._reader))
        return self._calls.stream(question, lambda: self._clients.key)

    def learned(self, model: str) -> Mapping[str, JsonValue]:
        """See ``LearningModel``."""
        return self._calls.learned(model)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._clients.aclose()
