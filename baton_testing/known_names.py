"""The agents, tools and states that tests may name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from baton.adapters.agent_files import AgentFiles
from baton.domain.tool import HttpTool, McpServer, OpenApiTool, PythonTool
from baton.domain.tool_call import ASK, BUILTIN_TOOLS, TRANSFER, tool_name
from baton_testing.conversation_test import ToolStub


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What the project's agents' files declare."""

    agents: frozenset[str]
    mains: frozenset[str]
    tools: frozenset[str]
    """Tools that are declared by their own names, and those of Baton's own."""
    servers: frozenset[str]
    """Names of MCP servers, whose tools are not known without asking them."""
    states: frozenset[str]

    @classmethod
    def of(cls, files: AgentFiles) -> KnownNames:
        """Return the names of these agents."""
        agents = files.all()
        declared = [tool for agent in agents for tool in agent.tools]
        made = {name for agent in agents for name in (tool_name(ASK, agent.id), tool_name(TRANSFER, agent.id))}
        return cls(
            agents=frozenset(agent.id for agent in agents),
            mains=frozenset(agent.id for agent in agents if agent.main),
            tools=frozenset(
                {tool.name for tool in declared if isinstance(tool, HttpTool | OpenApiTool | PythonTool)}
                | made
                | set(BUILTIN_TOOLS)
            ),
            servers=frozenset(tool.name for tool in declared if isinstance(tool, McpServer)),
            states=frozenset(
                state.name for agent in agents if agent.workflow is not None for state in agent.workflow.states
            ),
        )

    def problem_of_agent(self, name: str) -> str | None:
        """Return what is wrong with an agent's id."""
        return None if name in self.agents else f"there is no agent {name!r}. There are: {_list(self.agents)}"

    def problem_of_main(self, name: str) -> str | None:
        """Return what is wrong with the agent that a conversation is to begin with."""
        if name in self.mains:
            return None
        return self.problem_of_agent(name) or f"{name!r} is no main agent. There are: {_list(self.mains)}"

    def problem_of_tool(self, name: str) -> str | None:
        """Return what is wrong with a tool's name. Tools of MCP servers may have any."""
        if name in self.tools or self.servers:
            return None
        return f"no agent has a tool {name!r}. There are: {_list(self.tools)}"

    def problem_of_source(self, name: str) -> str | None:
        """Return what is wrong with the name of a tool or server that is reached."""
        if name in self.tools | self.servers:
            return None
        return f"no agent has a tool or server {name!r}. There are: {_list(self.tools | self.servers)}"

    def problem_of_stub(self, name: str, stub: ToolStub) -> str | None:
        """Return what is wrong with a stub's name."""
        if stub.server is not None:
            if stub.server in self.servers:
                return None
            return f"no agent has an MCP server {stub.server!r}. There are: {_list(self.servers)}"
        if name in self.tools:
            return None
        told = f"no agent declares a tool {name!r}. There are: {_list(self.tools)}"
        return f"{told}. For a tool of an MCP server, name it: `server:`" if self.servers else told

    def problem_of_state(self, name: str) -> str | None:
        """Return what is wrong with the state of a workflow."""
        return None if name in self.states else f"no workflow has a state {name!r}. There are: {_list(self.states)}"


def _list(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "none"
