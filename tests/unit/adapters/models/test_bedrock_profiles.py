"""Profiles of the models on Amazon Bedrock, by their many names."""

from __future__ import annotations

import pytest

from baton.adapters.models.profiles.bedrock_profiles import HOST
from baton.adapters.models.profiles.known_profiles import find_declared_profile
from baton.adapters.models.profiles.profile import AnswerForm, Api, CacheHints, EffortForm, ModelProfile, SystemPlace
from baton.domain.runs.provider_parts import Replay


def of(model: str) -> ModelProfile:
    return find_declared_profile(HOST, model)


@pytest.mark.parametrize(
    "name",
    [
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
)
def test_a_model_is_known_by_all_its_names(name: str) -> None:
    assert of(name) == of("anthropic.claude-sonnet-4-5-20250929")
    assert of(name).default_max_output == 64_000


@pytest.mark.parametrize(
    ("model", "effort", "tokens"),
    [
        ("anthropic.claude-3-haiku-20240307", EffortForm.NONE, 4_096),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", EffortForm.NONE, 4_096),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", EffortForm.BUDGET, 4_096),
        ("anthropic.claude-sonnet-4-20250514-v1:0", EffortForm.BUDGET, 4_096),
        ("anthropic.claude-opus-4-1-20250805-v1:0", EffortForm.BUDGET, 4_096),
        ("anthropic.claude-opus-4-5-20251101-v1:0", EffortForm.BUDGET, 64_000),
        ("anthropic.claude-opus-4-6-v1", EffortForm.ADAPTIVE, 128_000),
        ("anthropic.claude-opus-4-8", EffortForm.ADAPTIVE, 128_000),
        ("anthropic.claude-haiku-5-5", EffortForm.ADAPTIVE, 128_000),
        ("anthropic.claude-fable-5-2", EffortForm.ADAPTIVE, 128_000),
    ],
)
def test_generations_of_claude_think_in_their_way(model: str, effort: EffortForm, tokens: int) -> None:
    profile = of(model)
    assert (profile.effort, profile.default_max_output) == (effort, tokens)
    assert (profile.replay, profile.further["reasoning"]) == (Replay.TURN, "signed")


def test_every_model_speaks_converse() -> None:
    for model in (
        "anthropic.claude-opus-5",
        "openai.gpt-6-sol",
        "qwen.qwen3-32b-v1:0",
        "mistral.pixtral-large",
        "new.one",
    ):
        profile = of(model)
        assert (profile.api, profile.system, profile.alternates) == (Api.CONVERSE, SystemPlace.HEAD, False)


def test_only_claude_and_the_first_novas_get_cache_points() -> None:
    models = (
        "anthropic.claude-opus-5",
        "amazon.nova-pro-v1:0",
        "amazon.nova-2-lite-v1:0",
        "openai.gpt-6-sol",
        "new.one",
    )
    assert [of(model).cache is CacheHints.POINTS for model in models] == [True, True, False, False, False]


def test_schemas_are_enforced_where_the_service_can() -> None:
    enforcing = ("anthropic.claude-haiku-4-5", "qwen.qwen3-32b-v1:0", "zai.glm-5", "google.gemma-3-27b-it")
    others = (
        "anthropic.claude-fable-5",
        "anthropic.claude-3-haiku",
        "amazon.nova-pro-v1:0",
        "meta.llama4-scout",
        "new.one",
    )
    assert {of(model).answer_form for model in enforcing} == {AnswerForm.SCHEMA}
    assert {of(model).answer_form for model in others} == {AnswerForm.PROMPT}


def test_an_override_names_a_family_and_further_facts() -> None:
    overrides = {"*/ab12cd": {"family": "anthropic.claude-opus-5-5", "further": {"efforts": "low"}}}
    arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/ab12cd"
    profile = find_declared_profile(HOST, arn, overrides)
    assert profile.effort is EffortForm.ADAPTIVE
    assert (profile.further["efforts"], profile.further["thinking_off"]) == ("low", "never")
