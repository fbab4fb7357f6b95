"""The fixtures of end-to-end tests, as a pytest plugin: one local cloud for all of them, with a scripted model."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator

import httpx
import pytest

from baton_local.demo_model.app import create_app
from baton_local.demo_model.sentence_encoder import DIMENSIONS, NAME
from tests.e2e import streams_process
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import PATIENCE_SECONDS, SocketClient
from tests.e2e.users import User
from tests.fault_model import FaultModel, ThreadedServer, fault_model, fault_model_server
from tests.forked import ForkedProcess
from tests.unit.docs.pages import ROOT, block

__all__ = ["fault_model", "fault_model_server"]

NewUser = Callable[..., User]
TIMES = {"BATON_FORGET_WAIT_SECONDS": "1", "BATON_RECALL_DEADLINE_MS": "10000"}
"""Nothing waits a quarter of an hour for zombies; a turn recalls on a slow machine too, where embeddings take long."""
EMBED_GUIDE = ROOT / "docs" / "how-to" / "embed-chat.md"


@pytest.fixture(scope="session")
def get_embedding_model() -> Iterator[dict[str, str]]:
    """The settings of an embedding model that is asked over HTTP and with the model's key, as a deployment asks it."""
    server = ThreadedServer(create_app({}))
    yield {
        "BATON_EMBEDDING_MODEL": NAME,
        "BATON_EMBEDDING_DIMENSIONS": str(DIMENSIONS),
        "BATON_EMBEDDING_BASE_URL": f"http://127.0.0.1:{server.start()}",
    }
    server.stop()


@pytest.fixture(scope="session")
def cloud(fault_model_server: FaultModel, get_embedding_model: dict[str, str]) -> Iterator[RunningCloud]:
    """The product, served from another process; it knows the key of the host application of the guide to embedding."""
    settings = {"BATON_EMBED_KEYS": block(EMBED_GUIDE, "embed_keys")} | get_embedding_model
    with RunningCloud(fault_model_server.base_url, settings=settings | TIMES) as running:
        yield running


@pytest.fixture(scope="session")
def demo_cloud() -> Iterator[RunningCloud]:
    """The product as ``make run`` starts it, with the demo model, but for pauses: between words, and for zombies."""
    with RunningCloud(settings={"BATON_DEMO_DELAY_MS": "1"} | TIMES) as running:
        yield running


@pytest.fixture
def model(fault_model: FaultModel) -> FaultModel:
    """The model: echoes what the user said, unless the test scripts something else."""
    return fault_model


@pytest.fixture(scope="session")
async def http_client(cloud: RunningCloud) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a token."""
    async with httpx.AsyncClient(base_url=cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        yield client


@pytest.fixture
def killable_streams(cloud: RunningCloud) -> Iterator[tuple[str, ForkedProcess]]:
    """Another process that serves streams, at a separate address, to be killed."""
    process = ForkedProcess(streams_process.serve, cloud.environment)
    try:
        yield process.receive(), process
    finally:
        process.kill()


@pytest.fixture
def tenant() -> str:
    """A tenant that no other test knows."""
    return f"t-{uuid.uuid4().hex}"


@pytest.fixture
def new_user(cloud: RunningCloud, http_client: httpx.AsyncClient, tenant: str) -> NewUser:
    """Make a user: ``new_user("bob", "thread:read_all", tenant="other")``."""

    def make(name: str, *permissions: str, tenant: str = tenant, seconds: float = 3600) -> User:
        return User(cloud, http_client, tenant, name, cloud.token(tenant, name, *permissions, seconds=seconds))

    return make


@pytest.fixture
def alice(new_user: NewUser, model: FaultModel) -> User:
    """A user of this test's tenant."""
    return new_user("alice")


@pytest.fixture
async def socket(alice: User) -> AsyncIterator[SocketClient]:
    """Alice's connection."""
    async with alice.connect() as connected:
        yield connected
