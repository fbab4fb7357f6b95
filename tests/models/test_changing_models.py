"""Conversations whose agents have models of different families, and prompts that become too long."""

from __future__ import annotations

from collections.abc import AsyncIterator

import boto3
import pytest

from baton.adapters.models.bedrock.chat_model import BedrockChatModel
from baton.adapters.models.bedrock.connection import BedrockConnection
from baton.adapters.models.openai import OpenAIChatModel
from baton.adapters.models.provider_models import ProviderModels
from tests.models.journeys import Journey
from tests.models.rerouting import Rerouted
from tests.models.standins import StandIns
from tests.models.standins.signed import ACCESS_KEY, SECRET_KEY

CLAUDE, GPT, DEEPSEEK, GROQ, GEMINI = (
    "bedrock/us.anthropic.claude-opus-5-5",
    "openai/gpt-6-sol",
    "deepseek/deepseek-v4",
    "groq/openai/gpt-oss-120b",
    "gemini/gemini-3-pro",
)
HOSTS = {
    "openai": ("https://api.openai.com/v1", "/responses", "openai"),
    "deepseek": ("https://api.deepseek.com/v1", "/chat/completions", "deepseek"),
    "groq": ("https://api.groq.com/openai/v1", "/chat/completions", "groq"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta/openai", "/chat/completions", "gemini"),
}


@pytest.fixture
async def models(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ProviderModels]:
    """One model over all providers, as a deployment has it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)

    def openai(name: str) -> OpenAIChatModel:
        base_url, action, dialect = HOSTS[name]
        transport = Rerouted(stand_ins, {action: dialect})
        return OpenAIChatModel(api_key="any", base_url=base_url, transport=transport, backoff_seconds=0.0)

    def bedrock() -> BedrockChatModel:
        connection = BedrockConnection("us-east-1", boto3.Session, endpoint=stand_ins.url)
        return BedrockChatModel(connection, backoff_seconds=0.0)

    instance = ProviderModels(
        {"bedrock": bedrock, **{name: (lambda name=name: openai(name)) for name in HOSTS}}  # type: ignore[misc]
    )
    yield instance
    await instance.aclose()


@pytest.mark.parametrize(
    ("main", "specialist"),
    [(CLAUDE, GPT), (GPT, CLAUDE), (DEEPSEEK, GROQ), (GROQ, GEMINI), (GEMINI, DEEPSEEK), (GPT, GEMINI)],
)
async def test_a_handoff_to_a_model_of_another_family_and_back(
    models: ProviderModels, stand_ins: StandIns, main: str, specialist: str
) -> None:
    journey = Journey(models, main, specialist=specialist)
    for says in (
        'think and use the tool weather with {"city": "Rome"} 2 times',
        "hand me over to maker",
        'think and use the tool advance_workflow with {"state": "BUILD", "data": {"name": "kite"}}',
        "think and say 5 words",
        "hand me back",
        'think and use the tool weather with {"city": "Oslo"}',
    ):
        answer = await journey.say(says)
        assert answer.last["type"] == "RUN_FINISHED", (says, answer.last)
    assert "Sunny in Oslo" in answer.text
    # What one model has signed, no other was sent: the stand-ins refuse foreign parts. Groq's fails once on purpose.
    refusals = [str(received.refusal) for received in stand_ins.journal.refused]
    assert [refusal for refusal in refusals if "tool_use_failed" not in refusal] == []


@pytest.mark.parametrize("dialect", ["short-context", "llama-cpp", "lm-studio-200", "ollama"])
async def test_a_conversation_that_outgrows_its_model_goes_on(stand_ins: StandIns, dialect: str) -> None:
    model = OpenAIChatModel(api_key="any", base_url=stand_ins.base_url(dialect), backoff_seconds=0.0)
    journey = Journey(model, "m", max_output_tokens=None)
    try:
        for number in range(14):
            answer = await journey.say(f"{number} " + "文書の内容を確認してください。" * 60)
            assert answer.last["type"] == "RUN_FINISHED", (number, answer.last)
        refused = len(stand_ins.journal.refused)
        await journey.say("short")
        assert len(stand_ins.journal.refused) == refused
    finally:
        await model.aclose()
