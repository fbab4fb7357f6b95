"""The definition of an agent that runs elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import RemoteAgent
from baton.domain.tenants.secret import SecretReference

CARD = "https://weather.example/.well-known/agent-card.json"


def define_remote(**remote: Any) -> RemoteAgent:
    agent = AgentDefinition.model_validate(
        {"id": "weather", "name": "Weather", "description": "Knows the weather.", "remote": remote}
    )
    assert agent.remote is not None
    return agent.remote


def problem(**remote: Any) -> str:
    with pytest.raises(ValidationError) as refusal:
        define_remote(**remote)
    return str(refusal.value)


def test_a_remote_agent_needs_no_prompt() -> None:
    assert define_remote(card_url=CARD).headers == {}


def test_an_agent_of_ours_needs_one() -> None:
    with pytest.raises(ValidationError, match="system_prompt"):
        AgentDefinition.model_validate({"id": "a", "name": "A", "description": "A."})
    with pytest.raises(ValidationError, match="system_prompt"):
        AgentDefinition.model_validate({"id": "a", "name": "A", "description": "A.", "system_prompt": "  "})


def test_a_wrong_address_is_the_only_thing_reported() -> None:
    assert "system_prompt" not in problem(card_url="ftp://x")


def test_no_conversation_begins_with_a_remote_agent() -> None:
    with pytest.raises(ValidationError, match="main"):
        AgentDefinition(id="a", name="A", description="A.", main=True, remote=RemoteAgent(card_url=CARD))


@pytest.mark.parametrize(
    "url",
    [
        CARD,
        "https://weather.example",
        "https://weather.example:8443/agents/one",
        "http://127.0.0.1:9000",
        "http://localhost:9000/a",
        "http://[::1]:9000",
    ],
)
def test_addresses_that_may_be(url: str) -> None:
    assert define_remote(card_url=url).card_url == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "weather.example",
        "http://weather.example",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example/",
        "http://127.0.0.1@evil.example/",
        "https://user:password@weather.example/",
        "https://weather.example/?token=x",
        "https://weather.example/#card",
        "https://weather.example/a b",
        "https://weather.example/\n",
        "file:///etc/passwd",
    ],
)
def test_addresses_that_may_not_be(url: str) -> None:
    assert "card_url" in problem(card_url=url)


def test_secrets_are_referred_to_and_shown_as_references() -> None:
    headers = {
        "Authorization": {"secret": "weather", "key": "token", "format": "Bearer {}"},
        "X-Key": {"parameter": "/baton/weather"},
        "X-Team": "blue",
    }
    remote = define_remote(card_url=CARD, headers=headers)
    assert remote.headers["X-Key"] == SecretReference(parameter="/baton/weather")
    assert remote.model_dump(by_alias=True, mode="json") == {
        "cardUrl": CARD,
        "headers": {
            "Authorization": {"secret": "weather", "key": "token", "format": "Bearer {}"},
            "X-Key": {"parameter": "/baton/weather", "format": "{}"},
            "X-Team": "blue",
        },
        "cardSignature": None,
        "sendsTrace": False,
    }


@pytest.mark.parametrize("name", ["Authorization", "authorization", "X-Api-Key", "Cookie", "Proxy-Authorization"])
def test_a_secret_does_not_stand_in_the_file(name: str) -> None:
    assert "refer to a secret" in problem(card_url=CARD, headers={name: "Bearer abc"})


@pytest.mark.parametrize(
    "headers",
    [
        {"X Key": "a"},
        {"X-Key": "a\r\nHost: b"},
        {"X-Key": "ä"},
        {"X-Key": "a", "x-key": "b"},
        {"X-Key": {}},
        {"X-Key": {"secret": "a", "parameter": "b"}},
        {"X-Key": {"parameter": "b", "key": "c"}},
        {"X-Key": {"secret": "a", "format": "Bearer"}},
        {"X-Key": {"secret": "a", "format": "{} {}"}},
        {"X-Key": {"secret": "a", "value": "b"}},
    ],
)
def test_headers_that_cannot_be(headers: dict[str, Any]) -> None:
    assert "headers" in problem(card_url=CARD, headers=headers)
