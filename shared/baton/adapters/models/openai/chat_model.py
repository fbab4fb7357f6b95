"""A chat model behind an endpoint with OpenAI's APIs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import httpx2 as httpx
from openai import Timeout

from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.models.failures.failure import Backoff
from baton.adapters.models.model_calls import ApiChatModel
from baton.adapters.models.openai.chat_completions import ChatCompletions
from baton.adapters.models.openai.clients import OpenAIClients
from baton.adapters.models.openai.endpoint import Endpoint
from baton.adapters.models.openai.responses import Responses
from baton.adapters.models.profiles.known_profiles import Profiles, find_host
from baton.adapters.models.profiles.profile import Api, CacheHints
from baton.ports.documents.documents import DocumentReader

if TYPE_CHECKING:
    from baton.adapters.models.openai.clients import AwsSigning

CONNECT_SECONDS = 5.0


class OpenAIChatModel(ApiChatModel):
    """``ports.agents.chat_model.ChatModel`` over Chat Completions or Responses of any base URL.

    The model's profile decides which of the two is called. See ``ApiChatModel`` for retries and the circuit. The SDK's
    own retries are off, because they end where the stream begins.

    The client is created with the first request, one for each event loop. ``api_key`` may be an async callable, which
    is called before each request; its errors are passed on. With ``sends_metadata`` each request has the field
    ``metadata``, which some endpoints refuse. ``cache_hints`` and ``profiles`` override declared facts of models.
    With ``signing``, requests to Amazon Bedrock are signed with the role of the function, and there is no key.
    """

    def __init__(
        self,
        *,
        api_key: str | Callable[[], Awaitable[str]],
        base_url: str | None = None,
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
        base_url = base_url or (signing.address if signing is not None else None)
        # ApiChatModel enforces the timeout, because a gateway's keep-alive comments reset the SDK's read timeout.
        timeout = Timeout(None, connect=CONNECT_SECONDS)
        self._clients = OpenAIClients(api_key, base_url, timeout, transport=transport, signing=signing)
        endpoint = Endpoint(self._clients.get, find_host(base_url), sends_metadata, cache_hints)
        chat, responses = ChatCompletions(endpoint), Responses(endpoint)
        super().__init__(
            lambda profile: responses if profile.api is Api.RESPONSES else chat,
            Profiles(endpoint.host, profiles),
            endpoint=base_url or "OpenAI",
            max_retries=max_retries,
            backoff=Backoff(backoff_seconds),
            breakers=breakers or CircuitBreakers(),
            reader=reader,
            secret=lambda: self._clients.key,
        )

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._clients.aclose()
