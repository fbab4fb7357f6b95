"""The adapters, each with the endpoints that it is tried against."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import boto3

from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.models.bedrock.chat_model import BedrockChatModel
from baton.adapters.models.bedrock.connection import BedrockConnection
from baton.adapters.models.openai import OpenAIChatModel
from tests.models.rerouting import Rerouted
from tests.models.standins import StandIns
from tests.models.standins.signed import ACCESS_KEY, SECRET_KEY

UNKNOWN = "https://gateway.test/v1"
"""An address of which no adapter knows anything."""
NOBODY = "acme-chat-1"
"""A model of which no adapter knows anything."""
RESPONSES = "https://api.openai.com/v1"
BEDROCK = "bedrock"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A stand-in as a deployment reaches it."""

    name: str
    """The dialect or host of the stand-in; for Bedrock the model id."""
    address: str
    """The address that the adapter is given; ``BEDROCK`` for Converse."""
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Model settings that make it think."""

    @property
    def id(self) -> str:
        """A name for tests."""
        return f"{self.name}{'-unknown' if self.address == UNKNOWN else ''}"

    @property
    def is_known(self) -> bool:
        """True if the adapter knows what the endpoint takes, so that it never refuses."""
        return self.address != UNKNOWN

    def unknown(self) -> Endpoint:
        """Return the same endpoint behind an address and a model name of which nothing is known."""
        return replace(self, address=UNKNOWN, model=NOBODY)


CHAT = (
    Endpoint("openai-gpt4", "https://api.openai.com/v1", "gpt-4.1"),
    Endpoint("azure", "https://acme.openai.azure.com/openai/v1", "production"),
    Endpoint("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro"),
    Endpoint("gemini-own-delta", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-4-flash"),
    Endpoint("deepseek", "https://api.deepseek.com/v1", "deepseek-v4"),
    Endpoint("mistral", "https://api.mistral.ai/v1", "magistral-medium-latest"),
    Endpoint("mistral-detail", "https://api.mistral.ai/v1", "mistral-large-latest"),
    Endpoint("groq", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b"),
    Endpoint("together", "https://api.together.xyz/v1", "deepseek-ai/DeepSeek-V4"),
    Endpoint("openrouter", "https://openrouter.ai/api/v1", "anthropic/claude-opus-5-5"),
    Endpoint("qwen-vllm", "http://models.internal:8000/v1", "Qwen/Qwen3.8-32B"),
    Endpoint("qwen-vllm-no-parser", "http://models.internal:8000/v1", "Qwen/Qwen3.6-8B"),
    Endpoint("gemma", "http://models.internal:8000/v1", "google/gemma-2-9b-it"),
    Endpoint("mistral-vllm", "http://models.internal:8000/v1", "mistralai/Mistral-Small-3.2-24B"),
    Endpoint("ollama", "http://localhost:11434/v1", "qwen3.5:8b"),
    Endpoint("llama-cpp", "http://localhost:8080/v1", "qwen3-8b-q4.gguf"),
    Endpoint("lm-studio", "http://localhost:1234/v1", "qwen3-8b"),
)
GATEWAYS = (
    Endpoint("bedrock-gateway", "http://gateway.internal/api/v1", "anthropic.claude-opus-4-7"),
    Endpoint("litellm", "http://litellm.internal:4000/v1", "claude-opus-5-5"),
)
"""The addresses of these say nothing, and the models little."""
RESPONSES_HOSTS = (
    Endpoint("openai", RESPONSES, "gpt-6-sol"),
    Endpoint("openai-astra", RESPONSES, "gpt-6-astra"),
    Endpoint("azure", "https://acme.openai.azure.com/openai/v1", "gpt-6-sol"),
    Endpoint("mantle", "https://bedrock-mantle.eu-west-1.api.aws/openai/v1", "openai.gpt-6-sol"),
    Endpoint("xai", "https://api.x.ai/v1", "grok-4.6"),
)
CONVERSE = tuple(
    Endpoint(model, BEDROCK, model, settings)
    for model, settings in (
        ("us.anthropic.claude-opus-5-5", {}),
        ("global.anthropic.claude-opus-4-8", {"reasoning_effort": "low"}),
        ("eu.anthropic.claude-haiku-4-5", {"reasoning_effort": "low"}),
        ("eu.amazon.nova-pro-v1:0", {}),
        ("us.meta.llama4-maverick-17b-instruct-v1:0", {}),
        ("us.mistral.pixtral-large-2502-v1:0", {}),
        ("us.openai.gpt-6-sol", {"reasoning_effort": "low"}),
        ("openai.gpt-oss-120b-1:0", {"reasoning_effort": "low"}),
        ("qwen.qwen3-32b-v1:0", {}),
        ("us.deepseek.v3-2", {}),
    )
)
ADAPTERS = (Endpoint("plain", "http://models.internal/v1", "some-model"), RESPONSES_HOSTS[0], CONVERSE[0])
"""One endpoint for each adapter, for what depends on the adapter only."""
KNOWN = (*CHAT, *RESPONSES_HOSTS, *CONVERSE)
UNKNOWN_CHAT = (*GATEWAYS, *(endpoint.unknown() for endpoint in (*CHAT, *GATEWAYS)))


def parametrise(endpoints: tuple[Endpoint, ...]) -> dict[str, Any]:
    """Return the arguments of ``pytest.mark.parametrize`` for a parameter ``endpoint``."""
    ids = [
        f"{'converse' if endpoint.address == BEDROCK else endpoint.address.split('/')[2]}-{endpoint.id}"
        for endpoint in endpoints
    ]
    return {"argnames": "endpoint", "argvalues": endpoints, "ids": ids}


@asynccontextmanager
async def adapter(stand_ins: StandIns, endpoint: Endpoint, **options: Any) -> AsyncIterator[Any]:
    """Make the adapter that a deployment uses for ``endpoint``, and close it."""
    value = {"backoff_seconds": 0.0, "breakers": CircuitBreakers()} | options
    if endpoint.address == BEDROCK:
        connection = BedrockConnection(
            "eu-west-1",
            lambda: boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY),
            endpoint=stand_ins.url,
        )
        model: Any = BedrockChatModel(connection, **value)
    else:
        # The stand-in of a dialect answers both APIs; only some have Responses.
        transport = Rerouted(stand_ins, {"/responses": endpoint.name, "/chat/completions": endpoint.name})
        model = OpenAIChatModel(api_key="a-key", base_url=endpoint.address, transport=transport, **value)
    try:
        yield model
    finally:
        await model.aclose()
