"""Profiles of OpenAI's models, at OpenAI and elsewhere."""

from __future__ import annotations

import pytest

from baton.adapters.models.profiles.known_profiles import find_declared_profile
from baton.adapters.models.profiles.profile import Api, CacheHints, ModelProfile

OPENAI = "api.openai.com"
AZURE = "acme.openai.azure.com"
RUNTIME = "bedrock-runtime.eu-west-1.amazonaws.com"
MANTLE = "bedrock-mantle.eu-west-1.api.aws"
XAI = "api.x.ai"
GATEWAY = "gateway.test"


def profile(host: str, model: str) -> ModelProfile:
    return find_declared_profile(host, model)


@pytest.mark.parametrize(
    ("host", "model", "api"),
    [
        (OPENAI, "gpt-6-sol", Api.RESPONSES),
        (OPENAI, "gpt-6.1-sol", Api.RESPONSES),
        (OPENAI, "gpt-5.6-terra", Api.RESPONSES),
        (OPENAI, "gpt-5.2", Api.RESPONSES),
        (OPENAI, "o3", Api.RESPONSES),
        (OPENAI, "gpt-4.1", Api.CHAT),
        ("eu.api.openai.com", "gpt-6-luna", Api.RESPONSES),
        (AZURE, "gpt-6-sol", Api.RESPONSES),
        (AZURE, "gpt-5.2", Api.CHAT),
        (AZURE, "production", Api.CHAT),
        (RUNTIME, "openai.gpt-6-sol", Api.RESPONSES),
        (RUNTIME, "openai.gpt-oss-120b-1:0", Api.CHAT),
        (RUNTIME, "qwen.qwen3-32b-v1:0", Api.CHAT),
        (MANTLE, "openai.gpt-5.4", Api.RESPONSES),
        (XAI, "grok-4.6", Api.RESPONSES),
        (GATEWAY, "gpt-6-sol", Api.CHAT),
        (GATEWAY, "openai/gpt-6-sol", Api.CHAT),
    ],
)
def test_the_api_is_known_by_host_and_model(host: str, model: str, api: Api) -> None:
    assert profile(host, model).api is api


@pytest.mark.parametrize("host", [OPENAI, AZURE, GATEWAY])
@pytest.mark.parametrize(
    "model", ["gpt-5", "gpt-5-mini", "gpt-5.2", "gpt-5.6-sol", "gpt-6-astra", "o3", "openai/gpt-6-sol"]
)
def test_reasoning_models_have_their_own_limit_and_room_for_thinking(host: str, model: str) -> None:
    existing = profile(host, model)
    assert (existing.limit_field, existing.thinking_tokens) == ("max_completion_tokens", 4_000)


@pytest.mark.parametrize(
    ("model", "is_refused"),
    [
        ("gpt-5", True),
        ("gpt-5.6-sol", True),
        ("gpt-6-luna", True),
        ("openai.gpt-6-sol", True),
        ("gpt-5.2", False),  # it thinks only if it is asked to
        ("gpt-4.1", False),
    ],
)
def test_models_that_think_take_no_sampling(model: str, is_refused: bool) -> None:
    assert ("temperature" in profile(OPENAI, model).dropped) is is_refused


@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-4o-mini", "gpt-5.2-chat-latest"])
def test_models_that_never_think_are_asked_for_no_reasoning(model: str) -> None:
    assert {"include", "reasoning_effort"} <= profile(OPENAI, model).dropped


@pytest.mark.parametrize("host", [OPENAI, AZURE, XAI])
def test_the_cache_is_found_by_a_key(host: str) -> None:
    assert profile(host, "any-model").cache is CacheHints.KEY
