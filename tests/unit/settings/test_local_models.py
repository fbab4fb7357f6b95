"""The choice of the local cloud's model, by the developer's settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from baton.settings.models import ProviderSettings
from baton_local.demo_model.sentence_encoder import make_encoder_url
from baton_local.environment import DEVELOPERS_CHOICE, OPENAI, applied, make_variables
from baton_local.settings import LocalSettings, find_model_endpoint

DEMO = "http://127.0.0.1:8080/local/openai/v1"
GROQ = {"groq": {"baseUrl": "https://api.groq.com/openai/v1", "key": "gsk-1"}}


def choose_variables(
    monkeypatch: pytest.MonkeyPatch, *, embedding_url: str | None = None, **values: str
) -> dict[str, str]:
    """The functions' variables for a developer who has set these."""
    for name in DEVELOPERS_CHOICE:
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return make_own_variables(embedding_url)


def make_own_variables(embedding_url: str | None = None) -> dict[str, str]:
    """Return the functions' variables, made from those of this process."""
    return make_variables(
        {},
        gateway="http://127.0.0.1:8080",
        table_endpoint="",
        files_endpoint="",
        queues_endpoint="",
        other_endpoint="",
        search_url="",
        embedding_url=embedding_url,
    )


def endpoint(values: dict[str, str]) -> str:
    with applied(values):
        return find_model_endpoint(ProviderSettings())


def test_the_demo_model_answers_a_developer_who_has_set_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    here = choose_variables(monkeypatch)
    assert (here["OPENAI_BASE_URL"], here["BATON_CHAT_MODEL"], here["BATON_LIGHT_MODEL"]) == (
        DEMO,
        "baton-demo",
        "baton-demo-light",
    )
    assert endpoint(here) == DEMO


def test_openai_answers_a_developer_with_a_key_and_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    here = choose_variables(monkeypatch, OPENAI_API_KEY="sk-1", BATON_CHAT_MODEL="gpt-6-sol")
    assert endpoint(here) == here["OPENAI_BASE_URL"] == OPENAI
    assert "BATON_LIGHT_MODEL" not in here


def test_a_named_provider_answers_without_a_default_one(monkeypatch: pytest.MonkeyPatch) -> None:
    providers = json.dumps(GROQ)
    here = choose_variables(monkeypatch, BATON_MODEL_PROVIDERS=providers, BATON_CHAT_MODEL="groq/llama-4")
    assert here["BATON_MODEL_PROVIDERS"] == providers
    assert (here["OPENAI_BASE_URL"], here.get("BATON_MODEL_METADATA")) == ("", None)
    assert endpoint(here) == "https://api.groq.com/openai/v1"


def test_bedrock_answers_without_any_other_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    here = choose_variables(monkeypatch, BATON_CHAT_MODEL="bedrock/eu.anthropic.claude-sonnet-5-5")
    assert endpoint(here) == "Amazon Bedrock"


def test_a_provider_that_only_an_agent_names_leaves_the_demo_model_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    here = choose_variables(monkeypatch, BATON_MODEL_PROVIDERS=json.dumps(GROQ))
    assert (here["OPENAI_BASE_URL"], here["BATON_CHAT_MODEL"]) == (DEMO, "baton-demo")


def test_only_bedrock_is_asked_with_the_developers_own_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", "/home/ada/aws/config")
    assert "BATON_BEDROCK_CONFIG_FILE" not in choose_variables(monkeypatch)
    here = choose_variables(
        monkeypatch, BATON_CHAT_MODEL="bedrock/eu.amazon.nova-pro-v1:0", BATON_BEDROCK_PROFILE="work"
    )
    assert (here["BATON_BEDROCK_PROFILE"], here["BATON_BEDROCK_CONFIG_FILE"]) == ("work", "/home/ada/aws/config")
    assert here["AWS_CONFIG_FILE"] == "/dev/null"
    with applied(here):  # worker processes make their variables of these
        assert make_own_variables()["BATON_BEDROCK_CONFIG_FILE"] == "/home/ada/aws/config"


def test_functions_of_other_processes_ask_the_encoder_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Path("/var/cache/baton")
    here = LocalSettings(cache_dir=cache, worker_processes=0).embedding_url
    assert here == make_encoder_url(cache)
    assert choose_variables(monkeypatch, embedding_url=here)["BATON_EMBEDDING_BASE_URL"] == here
    others = LocalSettings(cache_dir=cache, built=cache), LocalSettings(cache_dir=cache, worker_processes=2)
    assert [other.embedding_url for other in others] == [None, None]
    assert choose_variables(monkeypatch)["BATON_EMBEDDING_BASE_URL"] == DEMO
