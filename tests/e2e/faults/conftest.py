"""The local cloud with two worker processes, a proxy before its table, and a model that stops where it is told to."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.e2e.cloud import RunningCloud
from tests.e2e.faults.table_proxy import TableProxy
from tests.e2e.faults.viewer import PATIENCE_SECONDS
from tests.e2e.gates import Gate
from tests.e2e.users import User
from tests.fault_model import Exchange, FaultModel, answers


class GatedModel:
    """Answers "<question>: one two three", or, where a gate has the question's name, what the gate lets through."""

    def __init__(self) -> None:
        self.gates: dict[str, Gate] = {}
        self.pause = 0.0
        """Seconds between two words of an answer."""
        self._asked: set[str] = set()
        self._changed = threading.Condition()

    def wait_until_asked(self, question: str) -> None:
        """Return when the model has been asked this. Raises ``TimeoutError``."""
        with self._changed:
            if not self._changed.wait_for(lambda: question in self._asked, PATIENCE_SECONDS):
                raise TimeoutError(question)

    async def behave(self, exchange: Exchange) -> None:
        question = next(content for role, content in reversed(exchange.received.prompts) if role == "user")
        question = question if isinstance(question, str) else json.dumps(question)
        with self._changed:
            self._asked.add(question)
            self._changed.notify_all()
        gate = self.gates.pop(question, None)
        if gate is not None:
            await gate.behaviour(exchange)
        else:
            await answers(f"{question}: one two three", delay=self.pause)(exchange)


@pytest.fixture(scope="session")
def gated_model() -> GatedModel:
    return GatedModel()


@pytest.fixture(scope="session")
def table_proxy(dynamodb_local: str) -> Iterator[TableProxy]:
    with TableProxy(dynamodb_local) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def killable_cloud(table_proxy: TableProxy, gated_model: GatedModel) -> Iterator[RunningCloud]:
    """The product in several processes."""
    with FaultModel(otherwise=gated_model.behave) as model:
        settings = {
            "AWS_ENDPOINT_URL_DYNAMODB": table_proxy.url,
            "BATON_LOCAL_WORKER_PROCESSES": "2",
            "BATON_LOCAL_WORKERS": "32",
            "BATON_LOCAL_VISIBILITY_SECONDS": "45",
        }
        with RunningCloud(model.base_url, settings) as running:
            yield running


@pytest.fixture(scope="session")
async def ada(killable_cloud: RunningCloud) -> AsyncIterator[User]:
    """Somebody to talk."""
    tenant = f"t-{uuid.uuid4().hex}"
    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(
        base_url=killable_cloud.url, timeout=PATIENCE_SECONDS, trust_env=False, limits=limits
    ) as client:
        yield User(killable_cloud, client, tenant, "ada", killable_cloud.token(tenant, "ada"))
