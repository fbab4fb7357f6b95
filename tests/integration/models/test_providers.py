"""Providers as the settings name them, over HTTP: addresses, keys, APIs and fallbacks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from baton.adapters.aws.secrets import SecretsManager
from baton.adapters.models.provider_models import ProviderModels
from baton.composition.models.provider_models import make_provider_models
from baton.domain.errors import ModelError
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt
from baton.ports.documents.files import ThreadFiles
from baton.settings.models import ProviderSettings as EndpointSettings
from tests.fault_model import FaultModel, status

HELLO = [Prompt(Role.USER, "Hello")]


class Secrets(SecretsManager):
    """A secret store that has a key for every name."""

    def _read(self, name: str) -> str:
        return f"key of {name}"


@pytest.fixture
def other() -> Iterator[FaultModel]:
    """The endpoint of another provider."""
    with FaultModel() as server:
        yield server


def declare_providers(monkeypatch: pytest.MonkeyPatch, default: FaultModel, **providers: Any) -> ProviderModels:
    monkeypatch.setenv("OPENAI_BASE_URL", default.base_url)
    monkeypatch.setenv("BATON_CHAT_MODEL", "fault-1")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "tokenizer")
    monkeypatch.setenv("BATON_MODEL_PROVIDERS", json.dumps(providers))
    return make_provider_models(EndpointSettings(), Secrets())


async def ask(models: ProviderModels, model: str, *fallback: str) -> list[ModelChunk]:
    settings = ModelSettings(model=model, fallback=fallback, timeout_seconds=10)
    try:
        stream = models.stream(settings, HELLO, thread_files=cast("ThreadFiles", None))
        return [chunk async for chunk in stream]
    finally:
        await models.aclose()


async def test_a_model_is_asked_at_its_providers_address_with_its_key(
    monkeypatch: pytest.MonkeyPatch, fault_model: FaultModel, other: FaultModel
) -> None:
    provider = {"baseUrl": other.base_url, "keySecret": "baton/dev/models/other"}
    models = declare_providers(monkeypatch, fault_model, other=provider)
    await ask(models, "other/maker/large")
    await ask(models, "maker/large")
    [there], [here] = other.requests, fault_model.requests
    assert (there.body["model"], there.headers["authorization"]) == (
        "maker/large",
        "Bearer key of baton/dev/models/other",
    )
    assert (here.body["model"], here.headers["authorization"]) == ("maker/large", "Bearer none")


@pytest.mark.parametrize(("api", "path"), [("auto", "chat/completions"), ("responses", "responses")])
async def test_a_provider_speaks_the_api_that_it_is_declared_with(
    monkeypatch: pytest.MonkeyPatch, fault_model: FaultModel, other: FaultModel, api: str, path: str
) -> None:
    models = declare_providers(monkeypatch, fault_model, other={"baseUrl": other.base_url, "api": api})
    with contextlib.suppress(ModelError):  # the fault model speaks Chat Completions only
        await ask(models, "other/large")
    assert other.requests[0].path == f"/v1/{path}"


async def test_another_provider_answers_for_one_that_fails(
    monkeypatch: pytest.MonkeyPatch, fault_model: FaultModel, other: FaultModel
) -> None:
    fault_model.otherwise = status(503, headers={"retry-after": "0"})
    models = declare_providers(monkeypatch, fault_model, other={"baseUrl": other.base_url})
    await ask(models, "fault-1", "other/large")
    assert len(fault_model.requests) == 3  # with its retries
    assert [request.body["model"] for request in other.requests] == ["large"]


async def test_a_circuit_that_is_open_costs_no_request_before_the_fallback(
    monkeypatch: pytest.MonkeyPatch, fault_model: FaultModel, other: FaultModel
) -> None:
    fault_model.otherwise = status(503, headers={"retry-after": "0"})
    models = declare_providers(monkeypatch, fault_model, other={"baseUrl": other.base_url})
    for _ in range(5):
        await ask(models, "fault-1", "other/large")
    request_count = len(fault_model.requests)
    await ask(models, "fault-1", "other/large")
    assert len(fault_model.requests) == request_count
    assert len(other.requests) == 6
