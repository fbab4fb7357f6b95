"""Two local clouds, whose agents work with real servers in other processes, and those of one with those of the other.

One consults, uses tools and asks for approval; the agents of the other, ``specialist_cloud``, hand over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from baton_local.engines.clients import client
from baton_local.resources import put_secret
from tests.e2e.cloud import RunningCloud
from tests.e2e.consulting.peers import Peer, mcp_server, remote_agent
from tests.e2e.sockets import PATIENCE_SECONDS
from tests.fault_model import FaultModel


@dataclass(frozen=True)
class Peers:
    """Servers that stay, and one of each kind for a test to kill."""

    files: Peer
    echo: Peer
    doomed_files: Peer
    doomed_echo: Peer


@pytest.fixture(scope="session")
def peers() -> Iterator[Peers]:
    """Whom the agents of this folder's cloud work with."""
    with mcp_server() as files, remote_agent() as echo, mcp_server() as doomed, remote_agent() as doomed_echo:
        yield Peers(files, echo, doomed, doomed_echo)


@dataclass(frozen=True)
class Specialists:
    """One agent that stays, one that is stopped in its work, and two for a test to kill."""

    echo: Peer
    slow: Peer
    doomed: Peer
    dead: Peer


@pytest.fixture(scope="session")
def specialists() -> Iterator[Specialists]:
    """Whom the agents of ``specialist_cloud`` hand over to."""
    with remote_agent() as echo, remote_agent() as slow, remote_agent() as doomed, remote_agent() as dead:
        yield Specialists(echo, slow, doomed, dead)


@pytest.fixture(scope="session")
def specialist_cloud(
    fault_model_server: FaultModel, peers: Peers, specialists: Specialists, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningCloud]:
    """The product with an agent that hands over, and one that asks a person before it counts, for itself and others."""
    targets = vars(specialists)
    folder = write_agents(
        tmp_path_factory.mktemp("specialists"),
        agent("host", handoffs=[{"agent": name, "context_mode": "recent"} for name in targets]),
        *(remote(name, peer) for name, peer in targets.items()),
        careful(peers),
    )
    with RunningCloud(fault_model_server.base_url, agents=folder) as running:
        keep_credentials(running)
        yield running


@pytest.fixture(scope="session")
def cloud(
    fault_model_server: FaultModel,
    peers: Peers,
    specialist_cloud: RunningCloud,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RunningCloud]:
    """The product with agents that consult, use tools, and ask for approval."""
    folder = write_agents(tmp_path_factory.mktemp("agents"), *definitions(peers), *partners(specialist_cloud))
    with RunningCloud(fault_model_server.base_url, agents=folder) as running:
        keep_credentials(running)
        secrets = client("secretsmanager", running.environment["AWS_ENDPOINT_URL"])
        put_secret(secrets, "baton/local/agents/partner", specialist_cloud.token("ours", "baton"))
        secrets.close()
        yield running


@pytest.fixture(scope="session")
async def http_client(cloud: RunningCloud) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that cloud, without a token."""
    async with httpx.AsyncClient(base_url=cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        yield client


def keep_credentials(cloud: RunningCloud) -> None:
    """Put what the agents' files refer to where they say it is."""
    here = cloud.environment["AWS_ENDPOINT_URL"]
    secrets = client("secretsmanager", here)
    for name in ("tools/files", "agents/echo"):
        put_secret(secrets, f"baton/local/{name}", "very-secret")
    secrets.close()
    parameters = client("ssm", here)  # type: ignore[call-overload]
    for name in ("tools/files", "agents/echo"):
        parameters.put_parameter(Name=f"/baton/local/{name}", Value="very-secret", Type="SecureString", Overwrite=True)
    parameters.close()


def credentials(location: str) -> dict[str, Any]:
    """Headers with a secret and a parameter."""
    return {
        "Authorization": {"secret": f"baton/{{stage}}/{location}", "format": "Bearer {}"},
        "X-Api-Key": {"parameter": f"/baton/{{stage}}/{location}"},
    }


def definitions(peers: Peers) -> list[dict[str, Any]]:
    """The agents, as their files declare them."""
    return [
        agent("conductor", sub_agents=["echo", "knowledge"], tools=[mcp(peers.files, ["add", "files.search"])]),
        agent("unlucky", sub_agents=["doomed-echo"], tools=[mcp(peers.doomed_files, ["die", "add"])]),
        careful(peers),
        remote("echo", peers.echo),
        remote("doomed-echo", peers.doomed_echo),
    ]


def partners(elsewhere: RunningCloud) -> list[dict[str, Any]]:
    """An agent, and the one of another cloud that it consults and hands over to."""
    where = {
        "card_url": f"{elsewhere.url}/a2a/careful",
        "headers": {"Authorization": {"secret": "baton/{stage}/agents/partner", "format": "Bearer {}"}},
    }
    partner = {"id": "partner", "name": "Partner", "description": "Counts.", "remote": where}
    return [agent("host", sub_agents=["partner"], handoffs=["partner"]), partner]


def careful(peers: Peers) -> dict[str, Any]:
    """An agent that asks a person before it counts."""
    return agent("careful", tools=[mcp(peers.files, ["next_number", "add"], requires_approval=["next_number"])])


def write_agents(folder: Path, *agents: dict[str, Any]) -> Path:
    """Write the agents' files; return their folder."""
    for definition in agents:
        (folder / f"{definition['id']}.yaml").write_text(yaml.safe_dump(definition))
    return folder


def agent(agent_id: str, **more: Any) -> dict[str, Any]:
    """An agent with which a conversation may begin."""
    name = agent_id.title()
    return {
        "id": agent_id,
        "name": name,
        "description": "Works with others.",
        "main": True,
        "system_prompt": f"You are {name}.",
        **more,
    }


def remote(agent_id: str, peer: Peer) -> dict[str, Any]:
    """An agent that runs elsewhere."""
    where = {"card_url": peer.url, "headers": credentials("agents/echo")}
    return {"id": agent_id, "name": agent_id.title(), "description": "Repeats.", "remote": where}


def mcp(peer: Peer, include: list[str], **more: Any) -> dict[str, Any]:
    """Tools of an MCP server."""
    return {
        "type": "mcp",
        "name": "files",
        "url": peer.url,
        "headers": credentials("tools/files"),
        "include": include,
        **more,
    }
