"""The local cloud with two worker processes, a proxy before its table, and a model that stops on request."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.e2e.cloud import RunningCloud
from tests.e2e.users import User
from tests.fault_model import FaultModel
from tests.faults.processes.gated_model import GatedModel
from tests.faults.processes.killed_workers import STAGES, WAYS, Conversation, kill_workers
from tests.faults.processes.table_proxy import TableProxy
from tests.faults.processes.viewer import PATIENCE_SECONDS


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
            "BATON_LOCAL_VISIBILITY_SECONDS": "20",
            "BATON_LEASE_SECONDS": "12",
            # One user has more runs in progress than users may have: a message over that is refused, not answered.
            "BATON_TENANT_LIMITS": '{"userRunsAtOnce": null, "userMessagesPerMinute": null, "userFollowStreams": null}',
        }
        with RunningCloud(model.base_url, settings) as running:
            yield running


@pytest.fixture(scope="session")
async def ada(killable_cloud: RunningCloud) -> AsyncIterator[User]:
    """A user."""
    tenant = f"t-{uuid.uuid4().hex}"
    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(
        base_url=killable_cloud.url, timeout=PATIENCE_SECONDS, trust_env=False, limits=limits
    ) as client:
        yield User(killable_cloud, client, tenant, "ada", killable_cloud.token(tenant, "ada"))


@pytest.fixture(scope="session")
async def killed_workers(
    request: pytest.FixtureRequest, ada: User, gated_model: GatedModel, table_proxy: TableProxy
) -> AsyncIterator[dict[tuple[str, str], Conversation]]:
    """Conversations whose worker was killed; other tests go on beside them while they recover.

    They are those that tests of this run look at, and one at least.
    """
    parameters = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    pairs = {(parameter["stage"], parameter["way"]) for parameter in parameters if {"stage", "way"} <= parameter.keys()}
    async with kill_workers(pairs or {(STAGES[0], WAYS[0])}, ada, gated_model, table_proxy) as conversations:
        yield conversations
