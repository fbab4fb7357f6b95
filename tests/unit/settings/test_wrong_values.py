"""Errors about variables of the functions with wrong values."""

from __future__ import annotations

import re

import pytest

from baton_local.errors import LocalCloudError
from baton_local.settings import check_function_settings


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("BATON_EPISODE_FACTS", "maybe", "true or false"),
        ("BATON_INSPECTOR", "most", "'all', 'sample' or 'off'"),
        ("BATON_RECALL_DEADLINE_MS", "7", "greater than or equal to 50"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(name, value)
    complaint = rf"A setting is wrong\. {name}: .*{re.escape(allowed)}.* \(it is {value!r}\)$"
    with pytest.raises(LocalCloudError, match=complaint):
        check_function_settings()


def test_what_is_wrong_about_providers_of_models_is_said_without_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "BATON_MODEL_PROVIDERS", '{"groq": {"baseURL": "https://api.groq.com/openai/v1", "key": "gsk-1"}}'
    )
    with pytest.raises(LocalCloudError, match=r"BATON_MODEL_PROVIDERS\.groq\.baseURL: ") as raised:
        check_function_settings()
    assert "gsk-1" not in str(raised.value)


def test_a_wrong_fact_of_a_model_is_named_with_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_CHAT_MODEL", "groq/llama-4")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.com/v1")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "tokenizer")
    monkeypatch.setenv("BATON_MODEL_PROFILES", '{"gpt-*": {"maxTool": 3}}')
    with pytest.raises(
        LocalCloudError, match=r"BATON_MODEL_PROFILES: gpt-\*\.maxTool: there is no such fact; .*maxTools"
    ):
        check_function_settings()
