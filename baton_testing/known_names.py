"""The agents, tools and states that tests may name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from baton.adapters.agents.agent_files import AgentFiles
from baton.agents.tools.schedule_tools import SCHEDULE_TOOLS
from baton.domain.agents.tool import HttpTool, McpServer, OpenApiTool, PythonTool
from baton.domain.definition import find_similar_name
from baton.domain.runs.tool_call import ASK, BUILTIN_TOOLS, TRANSFER, make_tool_name
from baton_testing.actions import Action
from baton_testing.conversation_test import ToolStub


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that the files of the project's agents declare."""

    agents: frozenset[str]
    mains: frozenset[str]
    tools: frozenset[str]
    """Tools that are declared by their own names, and Baton's own tools."""
    servers: frozenset[str]
    """Names of MCP servers, whose tools are unknown without a call of the server."""
    states: frozenset[str]
    desks: frozenset[str] = frozenset()

    @classmethod
    def of(cls, files: AgentFiles) -> KnownNames:
        """Return the names of these agents."""
        agents = files.all()
        declared = [tool for agent in agents for tool in agent.tools]
        made_tools = {
            name for agent in agents for name in (make_tool_name(ASK, agent.id), make_tool_name(TRANSFER, agent.id))
        }
        return cls(
            agents=frozenset(agent.id for agent in agents),
            mains=frozenset(agent.id for agent in agents if agent.main),
            tools=frozenset(
                {tool.name for tool in declared if isinstance(tool, HttpTool | OpenApiTool | PythonTool)}
                | {guardrail.name for agent in agents for guardrail in agent.guardrails}
                | made_tools
                | set(BUILTIN_TOOLS)
                | {name for agent in agents if agent.schedules.allowed for name in SCHEDULE_TOOLS}
            ),
            servers=frozenset(tool.name for tool in declared if isinstance(tool, McpServer)),
            states=frozenset(
                state.name for agent in agents if agent.workflow is not None for state in agent.workflow.states
            ),
            desks=frozenset(agent.id for agent in agents if agent.desk is not None),
        )

    def find_agent_problem(self, name: str) -> str | None:
        """Return the problem with an agent's id; None if there is none."""
        return None if name in self.agents else f"there is no agent {name!r}{_advise(name, self.agents)}"

    def find_main_problem(self, name: str) -> str | None:
        """Return the problem with the id of a conversation's first agent; None if there is none."""
        if name in self.mains:
            return None
        return self.find_agent_problem(name) or f"{name!r} is no main agent{_advise(name, self.mains)}"

    def find_desk_problems(self, action: Action) -> Iterator[tuple[str, str]]:
        """Yield each field of an action that refers to a missing desk, and its problem."""
        target = action.person.transfers if action.person is not None else None
        named = {"desk": action.desk if isinstance(action.desk, str) else None, "person.transfers": target}
        for field, name in named.items():
            if name is not None and name not in self.desks:
                yield field, f"there is no desk {name!r}{_advise(name, self.desks)}"
        needs_desk = action.desk is True or action.person is not None
        if needs_desk and not self.desks:
            yield "desk" if action.desk else "person", "no agent of the project is a desk"

    def find_tool_problem(self, name: str) -> str | None:
        """Return the problem with a tool's name; None if there is none. Tools of MCP servers may have any name."""
        if name in self.tools or self.servers:
            return None
        return f"no agent has a tool {name!r}{_advise(name, self.tools)}"

    def find_source_problem(self, name: str) -> str | None:
        """Return the problem with the name of a tool or server in ``reach``; None if there is none."""
        if name in self.tools | self.servers:
            return None
        return f"no agent has a tool or server {name!r}{_advise(name, self.tools | self.servers)}"

    def find_stub_problem(self, name: str, stub: ToolStub) -> str | None:
        """Return the problem with a stub's name; None if there is none."""
        if stub.server is not None:
            if stub.server in self.servers:
                return None
            return f"no agent has an MCP server {stub.server!r}{_advise(stub.server, self.servers)}"
        if name in self.tools:
            return None
        problem = f"no agent declares a tool {name!r}{_advise(name, self.tools)}"
        return f"{problem}. For a tool of an MCP server, name it: `server:`" if self.servers else problem

    def find_state_problem(self, name: str) -> str | None:
        """Return the problem with the state of a workflow; None if there is none."""
        return None if name in self.states else f"no workflow has a state {name!r}{_advise(name, self.states)}"


def _advise(name: str, names: Collection[str]) -> str:
    """Return the end of a problem's text: a similar name, or all available names."""
    similar = find_similar_name(name, names)
    return f" (did you mean {similar}?)" if similar else f". Available: {', '.join(sorted(names)) or 'none'}"
