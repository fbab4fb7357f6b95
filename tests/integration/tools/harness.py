"""A toolbox over real adapters, agents that use it, and real servers on this machine."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import httpx2

from baton.adapters import egress
from baton.adapters.egress import EgressPolicy
from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.http_tools import HttpRequests, HttpTools
from baton.adapters.tools.mcp import McpTools
from baton.adapters.tools.openapi_tools import OpenApiTools
from baton.adapters.tools.python_tools import PythonTools
from baton.adapters.tools.toolbox import Guards, Toolbox
from baton.authoring.functions import Functions
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import HttpTool, McpServer, OpenApiTool, PythonTool
from baton.domain.errors import NotFound
from baton.domain.tenants.identity import Scope
from baton.ports.agents.tools import CallContext, ToolResult
from tests.environment import INITIAL_ENVIRONMENT
from tests.unit.identity.signing import Monotonic

ROOT = Path(__file__).parents[3]
ADA = Scope("acme", "ada")
AT_HOME = EgressPolicy(("*",), allow_local=True)


@dataclass
class Kept:
    """Secrets, or parameters, by name."""

    values: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str:
        if name not in self.values:
            raise NotFound(f"The secret {name} has no value.")
        return self.values[name]

    renew = get


@dataclass
class Harness:
    """A toolbox and what it stands on."""

    folder: Path
    policy: EgressPolicy = AT_HOME
    guards: Guards | None = None
    tls: ssl.SSLContext | None = None
    max_response_bytes: int = egress.MAX_RESPONSE_BYTES
    listing_seconds: float = 5.0
    secrets: Kept = field(default_factory=Kept)
    parameters: Kept = field(default_factory=Kept)
    time: Monotonic = field(default_factory=Monotonic)
    _toolbox: Toolbox | None = None

    @property
    def toolbox(self) -> Toolbox:
        """The toolbox, made when it is first used."""
        if self._toolbox is None:
            headers = HeaderValues(self.secrets, self.parameters, "dev")
            requests = HttpRequests(self._client, headers)
            self._toolbox = Toolbox(
                {
                    McpServer: lambda: McpTools(self._mcp_client, headers, monotonic=self.time),
                    HttpTool: lambda: HttpTools(requests, lambda: self.policy),
                    OpenApiTool: lambda: OpenApiTools(requests, self._client, self.folder, monotonic=self.time),
                    PythonTool: lambda: PythonTools(Functions(lambda: ["tests.integration.tools"])),
                },
                headers,
                guards=self.guards,
                listing_seconds=self.listing_seconds,
                monotonic=self.time,
            )
        return self._toolbox

    async def call(self, agent: AgentDefinition, tool: str, scope: Scope = ADA, /, **arguments: Any) -> ToolResult:
        """Call a tool of the agent's in a turn."""
        return await self.toolbox.call(agent, tool, arguments, context(agent, scope))

    def _client(self, seconds: float) -> httpx.AsyncClient:
        return egress.make_http_client(
            self.policy, timeout_seconds=seconds, max_response_bytes=self.max_response_bytes, tls=self.tls
        )

    def _mcp_client(self, seconds: float) -> httpx2.AsyncClient:
        return egress.make_http2_client(
            self.policy, timeout_seconds=seconds, max_response_bytes=self.max_response_bytes, tls=self.tls
        )


def context(agent: AgentDefinition, scope: Scope = ADA) -> CallContext:
    """A call's context."""
    return CallContext(scope, "t1", "r1", agent.id, "c1", "key-1")


def agent_with(*tools: dict[str, Any]) -> AgentDefinition:
    """An agent with these tools, as its file would declare them."""
    return AgentDefinition.model_validate(
        {"id": "helper", "name": "Helper", "description": "Helps.", "system_prompt": "Help.", "tools": tools}
    )


def mcp(port: int, name: str = "files", **more: Any) -> dict[str, Any]:
    """The definition of an MCP server on this machine."""
    return {"type": "mcp", "name": name, "url": f"http://127.0.0.1:{port}/mcp", **more}


def http(port: int, path: str = "/", **more: Any) -> dict[str, Any]:
    """The definition of an HTTP operation on this machine."""
    url = f"http://127.0.0.1:{port}{path}"
    return {"type": "http", "name": "fetch", "description": "Fetches.", "url": url, **more}


@contextmanager
def mcp_server(name: str = "files") -> Iterator[int]:
    """A real MCP server; yields its port."""
    command = [sys.executable, "-m", "tests.integration.tools.mcp_server", name]
    path = os.pathsep.join([str(ROOT / "shared"), str(ROOT)])
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**INITIAL_ENVIRONMENT, "PYTHONPATH": path}
    ) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()
