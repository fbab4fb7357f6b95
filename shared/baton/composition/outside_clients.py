"""Clients of servers outside the deployment: tools and remote agents, called through guarded HTTP clients."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx
    import httpx2

    from baton.adapters.a2a import RemoteAgents
    from baton.adapters.agents.agent_files import AgentFiles
    from baton.adapters.tokens.subject_tokens import SubjectTokens
    from baton.adapters.tools.header_values import HeaderValues
    from baton.adapters.tools.tool_source import ToolSource
    from baton.adapters.tools.toolbox import Toolbox
    from baton.authoring.functions import Functions
    from baton.domain.agents.tool import HttpTool, McpServer, OpenApiTool, PythonTool
    from baton.domain.tenants.egress_policy import EgressPolicy
    from baton.ports.tenants.identity import Secrets


def make_functions() -> Functions:
    """Return what calls the functions of agents and tools."""
    from baton.authoring.functions import Functions
    from baton.settings.resources import OutsideSettings

    return Functions(  # the local cloud adds new packages
        lambda: OutsideSettings().packages, logs_messages=lambda: OutsideSettings().is_local
    )


class Outside:
    """Clients of the tools and remote agents in the agents' files, built on first use."""

    def __init__(
        self,
        agent_files: AgentFiles,
        secrets: Secrets,
        policy: Callable[[], EgressPolicy],
        subject_tokens: SubjectTokens | None = None,
        functions: Callable[[], Functions] | None = None,
    ) -> None:
        """``policy`` returns the hosts that may be called now, ``functions`` what calls the functions of agents."""
        self._functions = functions or make_functions
        self._subject_tokens = subject_tokens
        self._policy = policy
        self._agent_files = agent_files
        self._secrets = secrets

    @cached_property
    def toolbox(self) -> Toolbox:
        """The agents' tools that are outside Baton."""
        from baton.adapters import egress
        from baton.adapters.egress.circuit_breaker import CircuitBreakers
        from baton.adapters.tools.toolbox import Toolbox
        from baton.domain.agents.tool import HttpTool, McpServer, OpenApiTool, PythonTool
        from baton.settings.resources import AgentSettings, OutsideSettings

        def make_client(seconds: float) -> httpx.AsyncClient:
            return egress.http_client(self._policy(), timeout_seconds=seconds)

        def make_mcp_client(seconds: float) -> httpx2.AsyncClient:
            return egress.http2_client(self._policy(), timeout_seconds=seconds)

        def mcp_tools() -> ToolSource[McpServer]:
            from baton.adapters.tools.mcp import McpTools

            return McpTools(make_mcp_client, self.header_values)

        def http_tools() -> ToolSource[HttpTool]:
            from baton.adapters.tools.http_requests import HttpRequests
            from baton.adapters.tools.http_tools import HttpTools

            return HttpTools(HttpRequests(make_client, self.header_values), self._policy)

        def openapi_tools() -> ToolSource[OpenApiTool]:
            from baton.adapters.tools.http_requests import HttpRequests
            from baton.adapters.tools.openapi_tools import OpenApiTools

            requests = HttpRequests(make_client, self.header_values)
            return OpenApiTools(requests, make_client, AgentSettings().agents_dir)

        def python_tools() -> ToolSource[PythonTool]:
            from baton.adapters.tools.python_tools import PythonTools

            return PythonTools(self._functions())

        return Toolbox(
            {McpServer: mcp_tools, HttpTool: http_tools, OpenApiTool: openapi_tools, PythonTool: python_tools},
            self.header_values,
            guards=CircuitBreakers(),
            place=self._agent_files.place_of_tool,
            logs_messages=OutsideSettings().is_local,
        )

    @cached_property
    def remote_agents(self) -> RemoteAgents:
        """Remote agents, called over A2A."""
        from baton.adapters import egress
        from baton.adapters.a2a import RemoteAgents

        def make_client() -> httpx.AsyncClient:
            return egress.http_client(self._policy())

        headers = self.header_values

        return RemoteAgents(make_client, headers.resolve, redacted=headers.redacted)

    @cached_property
    def header_values(self) -> HeaderValues:
        """The resolver of secrets in the headers of tools and remote agents."""
        from baton.adapters.aws.secrets import ParameterStore
        from baton.adapters.tools.header_values import HeaderValues
        from baton.settings.resources import OutsideSettings

        exchanges = None
        if self._subject_tokens is not None:
            from baton.adapters import egress
            from baton.adapters.tokens.exchange import SECONDS, TokenExchanges

            def make_client() -> httpx.AsyncClient:
                return egress.http_client(self._policy(), timeout_seconds=SECONDS)

            exchanges = TokenExchanges(make_client, self._subject_tokens)
        return HeaderValues(self._secrets, ParameterStore(), OutsideSettings().stage, exchanges)
