"""A local cloud of its own, whose main agent hands over to agents in other processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import httpx
import pytest
import yaml

from tests.e2e.cloud import RunningCloud
from tests.e2e.consulting.conftest import agent, keep_credentials, remote
from tests.e2e.consulting.peers import Peer, remote_agent
from tests.e2e.sockets import PATIENCE_SECONDS
from tests.fault_model import FaultModel


@dataclass(frozen=True)
class Specialists:
    """One agent that stays, one that is stopped in its work, and two for a test to kill."""

    echo: Peer
    slow: Peer
    doomed: Peer
    dead: Peer


@pytest.fixture(scope="session")
def specialists() -> Iterator[Specialists]:
    """Whom the agents of this folder's cloud hand over to."""
    with remote_agent() as echo, remote_agent() as slow, remote_agent() as doomed, remote_agent() as dead:
        yield Specialists(echo, slow, doomed, dead)


@pytest.fixture(scope="session")
def cloud(
    fault_model_server: FaultModel, specialists: Specialists, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningCloud]:
    """The product with an agent that hands over."""
    folder = tmp_path_factory.mktemp("agents")
    targets = vars(specialists)
    definitions = [
        agent("host", handoffs=[{"agent": name, "context_mode": "recent"} for name in targets]),
        *(remote(name, peer) for name, peer in targets.items()),
    ]
    for definition in definitions:
        (folder / f"{definition['id']}.yaml").write_text(yaml.safe_dump(definition))
    with RunningCloud(fault_model_server.base_url, agents=folder) as running:
        keep_credentials(running)
        yield running


@pytest.fixture(scope="session")
async def http_client(cloud: RunningCloud) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that cloud, without a token."""
    async with httpx.AsyncClient(base_url=cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        yield client
