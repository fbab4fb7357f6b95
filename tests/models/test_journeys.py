"""Twenty turns with each family of models: nothing that an endpoint refuses ends the conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import boto3
import pytest

from baton.adapters.bedrock.chat_model import BedrockChatModel
from baton.adapters.bedrock.connection import BedrockConnection
from baton.adapters.openai import OpenAIChatModel
from baton.ports.chat_model import ChatModel
from tests.models.journeys import STEPS, Journey
from tests.models.rerouting import Rerouted
from tests.models.standins import Fault, StandIns
from tests.models.standins.signed import ACCESS_KEY, SECRET_KEY


@dataclass(frozen=True, slots=True)
class Family:
    """Models of one kind, at a stand-in."""

    dialect: str
    """The stand-in."""
    model: str
    host: str | None = None
    """The real host, of which facts are declared; None for an address that nothing is known of."""


CHAT = (
    Family("openai-gpt4", "gpt-4.1"),
    Family("openai-gpt5", "gpt-5", None),
    Family("openai-gpt5", "unknown"),
    Family("azure", "my-deployment", "acme.openai.azure.com"),
    Family("gemini", "gemini-3-pro", "generativelanguage.googleapis.com"),
    Family("gemini", "unknown"),
    Family("gemini-own-delta", "gemini-3-pro", "generativelanguage.googleapis.com"),
    Family("deepseek", "deepseek-v4", "api.deepseek.com"),
    Family("deepseek", "unknown"),
    Family("mistral", "mistral-large", "api.mistral.ai"),
    Family("mistral", "unknown"),
    Family("mistral-detail", "magistral-medium", "api.mistral.ai"),
    Family("qwen-vllm", "qwen3.5"),
    Family("qwen-vllm", "unknown"),
    Family("qwen-vllm-no-parser", "qwen3.5"),
    Family("qwen-vllm-no-parser", "unknown"),
    Family("gemma", "gemma3"),
    Family("gemma", "unknown"),
    Family("groq", "openai/gpt-oss-120b", "api.groq.com"),
    Family("groq", "unknown"),
    Family("together", "meta-llama/Llama-4"),
    Family("openrouter", "anthropic/claude-sonnet-5.5", "openrouter.ai"),
    Family("openrouter", "deepseek/deepseek-v4", "openrouter.ai"),
    Family("openrouter", "unknown"),
    Family("litellm", "claude"),
    Family("bedrock-gateway", "anthropic.claude-sonnet-4-5"),
    Family("ollama", "qwen3.5"),
    Family("ollama", "unknown"),
    Family("ollama-no-finish", "llama3.2", "127.0.0.1:11434"),
    Family("llama-cpp", "unknown"),
    Family("llama-cpp-500", "unknown"),
    Family("lm-studio", "unknown"),
    Family("lm-studio-200", "unknown"),
    Family("lm-studio-empty", "unknown"),
    Family("no-temperature", "m"),
    Family("one-system-message", "m"),
    Family("alternating-roles", "m"),
    Family("text-only", "m"),
    Family("strict-tools", "m"),
    Family("signatures", "m"),
    Family("reused-ids", "m"),
    Family("no-ids", "m"),
    Family("zero-index", "m"),
)
RESPONSES = (
    Family("openai", "gpt-6-sol", "api.openai.com"),
    Family("openai-astra", "gpt-6-astra", "api.openai.com"),
    Family("xai", "grok-4.6", "api.x.ai"),
)
CONVERSE = (
    "us.anthropic.claude-opus-5-5",
    "us.anthropic.claude-opus-4-7",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "us.amazon.nova-pro-v1:0",
    "us.meta.llama4-maverick-17b-instruct-v1:0",
    "mistral.mistral-large-2407-v1:0",
    "openai.gpt-oss-120b-1:0",
    "us.openai.gpt-5.6-sol",
    "us.deepseek.v3.2",
    "qwen.qwen3-32b-v1:0",
)


@asynccontextmanager
async def chat_model(stand_ins: StandIns, family: Family, action: str) -> AsyncIterator[ChatModel]:
    transport = None
    base_url = stand_ins.base_url(family.dialect)
    if family.host is not None:
        base_url, transport = f"https://{family.host}/v1", Rerouted(stand_ins, {action: family.dialect})
    model = OpenAIChatModel(api_key="any", base_url=base_url, transport=transport, backoff_seconds=0.0)
    try:
        yield model
    finally:
        await model.aclose()


async def travel(stand_ins: StandIns, model: ChatModel, name: str, who: str) -> list[str]:
    """Return what went wrong."""
    journey = Journey(model, name)
    await journey.learn()
    problems: list[str] = []
    for step in STEPS:
        if step.fails and "filter" not in step.says:
            stand_ins.journal.fail(*[Fault(503, {"error": {"message": "overloaded"}})] * 8, who=who)
        problem = journey.problem(step, await journey.say(step.says))
        stand_ins.journal.forget_faults()
        if problem is not None:
            problems.append(problem)
    return problems


@pytest.mark.parametrize("family", CHAT, ids=lambda family: f"{family.dialect} {family.model}")
async def test_chat_completions(stand_ins: StandIns, family: Family) -> None:
    async with chat_model(stand_ins, family, "/chat/completions") as model:
        assert await travel(stand_ins, model, family.model, family.dialect) == []


@pytest.mark.parametrize("family", RESPONSES, ids=lambda family: f"{family.dialect} {family.model}")
async def test_responses(stand_ins: StandIns, family: Family) -> None:
    async with chat_model(stand_ins, family, "/responses") as model:
        assert await travel(stand_ins, model, family.model, family.dialect) == []


@pytest.mark.parametrize("name", CONVERSE)
async def test_converse(stand_ins: StandIns, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    connection = BedrockConnection("us-east-1", boto3.Session, endpoint=stand_ins.url)
    model = BedrockChatModel(connection, backoff_seconds=0.0)
    try:
        assert await travel(stand_ins, model, name, name) == []
    finally:
        await model.aclose()
