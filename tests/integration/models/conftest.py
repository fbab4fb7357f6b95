"""Fixtures of the tests of models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from baton.adapters.models.openai import OpenAIChatModel
from tests.fault_model import FaultModel, fault_model, fault_model_server

__all__ = ["fault_model", "fault_model_server"]

SECRET = "sk-very-secret-key"


@pytest.fixture
async def make_model(fault_model: FaultModel) -> AsyncIterator[Callable[..., OpenAIChatModel]]:
    """Makes the product's chat model talk to the fault model, without waiting between its attempts."""
    models: list[OpenAIChatModel] = []

    def make(**options: object) -> OpenAIChatModel:
        arguments = {"api_key": SECRET, "base_url": fault_model.base_url, "backoff_seconds": 0.0} | options
        model = OpenAIChatModel(**arguments)  # type: ignore[arg-type]
        models.append(model)
        return model

    yield make
    for model in models:
        await model.aclose()


@pytest.fixture
def model(make_model: Callable[..., OpenAIChatModel]) -> OpenAIChatModel:
    """The product's chat model with its defaults."""
    return make_model()
