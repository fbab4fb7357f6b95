"""Two local clouds: the agents of one consult an agent of the other and hand over to it, as any A2A peer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from local.engines.clients import client
from local.resources import put_secret
from tests.e2e.cloud import RunningCloud
from tests.e2e.consulting.conftest import agent, keep_credentials, mcp
from tests.e2e.consulting.peers import Peer, mcp_server
from tests.e2e.sockets import PATIENCE_SECONDS
from tests.fault_model import FaultModel


@pytest.fixture(scope="session")
def numbers() -> Iterator[Peer]:
    """Where the partner's tool is that needs approval."""
    with mcp_server() as server:
        yield server


@pytest.fixture(scope="session")
def partner(
    fault_model_server: FaultModel, numbers: Peer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningCloud]:
    """Somebody else's cloud, with an agent that asks a person before it counts."""
    tools = [mcp(numbers, ["next_number"], requires_approval=["next_number"])]
    folder = written(tmp_path_factory.mktemp("partner"), agent("careful", tools=tools))
    with RunningCloud(fault_model_server.base_url, agents=folder) as running:
        keep_credentials(running)
        yield running


@pytest.fixture(scope="session")
def cloud(
    fault_model_server: FaultModel, partner: RunningCloud, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningCloud]:
    """Ours, whose agents know the partner's."""
    remote = {
        "id": "partner",
        "name": "Partner",
        "description": "Counts.",
        "remote": {
            "card_url": f"{partner.url}/a2a/careful",
            "headers": {"Authorization": {"secret": "baton/{stage}/agents/partner", "format": "Bearer {}"}},
        },
    }
    host = agent("host", sub_agents=["partner"], handoffs=["partner"])
    folder = written(tmp_path_factory.mktemp("ours"), host, remote)
    with RunningCloud(fault_model_server.base_url, agents=folder) as running:
        secrets = client("secretsmanager", running.environment["AWS_ENDPOINT_URL"])
        put_secret(secrets, "baton/local/agents/partner", partner.token("ours", "baton"))
        secrets.close()
        yield running


@pytest.fixture(scope="session")
async def http_client(cloud: RunningCloud) -> AsyncIterator[httpx.AsyncClient]:
    """A client of our cloud, without a token."""
    async with httpx.AsyncClient(base_url=cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as http:
        yield http


def written(folder: Path, *definitions: dict[str, Any]) -> Path:
    """Write the agents' files; return their folder."""
    for definition in definitions:
        (folder / f"{definition['id']}.yaml").write_text(yaml.safe_dump(definition))
    return folder
