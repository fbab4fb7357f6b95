"""The shipped agents with the demo model, with their prompts as they are and with other words in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from baton.adapters.models.openai import OpenAIChatModel
from baton_local.demo_model.app import create_app
from tests.fault_model import ThreadedServer
from tests.unit.demo_model.demo import Demo, Reworded


@pytest.fixture(scope="module")
def demo_url() -> Iterator[str]:
    server = ThreadedServer(create_app({"BATON_DEMO_DELAY_MS": "0"}))
    yield f"http://127.0.0.1:{server.start()}"
    server.stop()


@pytest.fixture(params=["as it is", "reworded"])
async def demo(request: pytest.FixtureRequest, demo_url: str) -> Any:
    model = OpenAIChatModel(api_key="none", base_url=demo_url, sends_metadata=True)
    yield Demo(model if request.param == "as it is" else Reworded(model))
    await model.aclose()
