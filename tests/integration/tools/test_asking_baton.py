"""An agent whose tools are the agents of another Baton."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from baton.domain.agents.agent import AgentDefinition
from baton.ports.agents.tools import ToolFailed
from tests.fakes.chat_model import Answer
from tests.harness.wiki import delete, wiki
from tests.integration.tools.harness import ADA, Harness, Kept, agent_with, mcp
from tests.unit.api.mcp_client import McpServed


@asynccontextmanager
async def serving(served: McpServed) -> AsyncIterator[AgentDefinition]:
    """Serve the other Baton; yield an agent that has its agents as tools."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(served.app, log_level="warning", lifespan="off"))
        running = asyncio.ensure_future(server.serve(sockets=[listener]))
        token = {"Authorization": {"secret": "baton/{stage}/tools/support", "format": "Bearer {}"}}
        yield agent_with(mcp(port, "support", headers=token))
        server.should_exit = True
        await running


@pytest.fixture
def harness(harness: Harness) -> Harness:
    """With a token for the other Baton."""
    harness.secrets = Kept({"baton/dev/tools/support": "acme,ada"})
    return harness


async def test_it_asks_once_however_often_it_tries(harness: Harness) -> None:
    served = McpServed.over(wiki(mcp=True))
    async with serving(served) as agent:
        offered = await harness.toolbox.offered(agent, ADA)
        assert ([tool.spec.name for tool in offered.tools], offered.missing) == (["assistant"], ())
        first = json.loads((await harness.call(agent, "assistant", message="Hello")).text)
        again = json.loads((await harness.call(agent, "assistant", message="Hello")).text)
    assert (first["message"], first["state"]) == ("Hello there.", "completed")
    assert first == again
    assert len(served.harness.model.requests) == 1


async def test_it_learns_what_the_other_agent_asks_and_what_went_wrong(harness: Harness) -> None:
    served = McpServed.over(wiki(mcp=True))
    served.harness.model.script(Answer.calling(delete("home"), text="May I?"))
    async with serving(served) as agent:
        request = json.loads((await harness.call(agent, "assistant", message="Delete it.")).text)
        assert (request["state"], request["questions"][0]["tool"]) == ("input_required", "delete")
        with pytest.raises(ToolFailed, match="not available to you"):
            await harness.call(agent, "assistant", message="Hello", thread_id="00000000-0000-4000-8000-000000000000")
