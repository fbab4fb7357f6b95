"""Clients of servers outside the deployment: tools and remote agents, called through guarded HTTP clients."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx
    import httpx2


def make_functions() -> parts.Functions:
    """Return the functions of agents and tools, with the packages that the settings allow."""
    return parts.Functions(  # the settings are read each time, because the local cloud adds packages
        lambda: parts.OutsideSettings().packages, logs_messages=lambda: parts.OutsideSettings().is_local
    )


class Outside:
    """Clients of the tools and remote agents in the agents' files, built on first use."""

    def __init__(
        self,
        agent_files: parts.AgentFiles,
        secrets: parts.Secrets,
        policy: Callable[[], parts.EgressPolicy],
        subject_tokens: parts.SubjectTokens | None = None,
        functions: Callable[[], parts.Functions] | None = None,
    ) -> None:
        """``policy`` returns the hosts that may be called now, ``functions`` agents' and tools' functions."""
        self._functions = functions or make_functions
        self._subject_tokens = subject_tokens
        self._policy = policy
        self._agent_files = agent_files
        self._secrets = secrets

    @cached_property
    def toolbox(self) -> parts.Toolbox:
        """The agents' tools that are outside Baton."""

        def make_client(seconds: float) -> httpx.AsyncClient:
            return parts.make_http_client(self._policy(), timeout_seconds=seconds)

        def make_mcp_client(seconds: float) -> httpx2.AsyncClient:
            return parts.make_http2_client(self._policy(), timeout_seconds=seconds)

        def make_http_tools() -> parts.ToolSource[parts.HttpTool]:
            return parts.HttpTools(parts.HttpRequests(make_client, self.header_values), self._policy)

        def make_openapi_tools() -> parts.ToolSource[parts.OpenApiTool]:
            requests = parts.HttpRequests(make_client, self.header_values)
            return parts.OpenApiTools(requests, make_client, parts.AgentSettings().agents_dir)

        return parts.Toolbox(
            {
                parts.McpServer: lambda: parts.McpTools(make_mcp_client, self.header_values),
                parts.HttpTool: make_http_tools,
                parts.OpenApiTool: make_openapi_tools,
                parts.PythonTool: lambda: parts.PythonTools(self._functions()),
            },
            self.header_values,
            guards=parts.CircuitBreakers(),
            find_position=self._agent_files.find_tool_position,
            logs_messages=parts.OutsideSettings().is_local,
        )

    @cached_property
    def remote_agents(self) -> parts.RemoteAgents:
        """Remote agents, called over A2A."""
        headers = self.header_values
        return parts.RemoteAgents(
            lambda: parts.make_http_client(self._policy()), headers.resolve, redact=headers.redact
        )

    @cached_property
    def header_values(self) -> parts.HeaderValues:
        """The resolver of secrets in the headers of tools and remote agents."""
        exchanges = None
        if self._subject_tokens is not None:
            exchanges = parts.TokenExchanges(
                lambda: parts.make_http_client(self._policy(), timeout_seconds=parts.EXCHANGE_SECONDS),
                self._subject_tokens,
            )
        return parts.HeaderValues(self._secrets, parts.ParameterStore(), parts.OutsideSettings().stage, exchanges)
