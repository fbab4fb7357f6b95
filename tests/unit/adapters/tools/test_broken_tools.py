"""Broken tools: reported once where they are written, left out of turns at once, and tried again meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from baton.adapters.tools import tool_listings
from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.tool_listings import RETRY_SECONDS
from baton.adapters.tools.tool_source import SourceTool, Unreachable
from baton.adapters.tools.toolbox import Toolbox
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import McpServer, ToolDefinition
from baton.domain.tenants.identity import Scope
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult
from tests.unit.adapters.tools.no_secrets import NoSecrets
from tests.unit.identity.signing import Monotonic

ADA = Scope("acme", "ada")
AGENT = AgentDefinition.model_validate(
    {
        "id": "helper",
        "name": "Helper",
        "description": "Helps.",
        "system_prompt": "Help.",
        "tools": [{"type": "mcp", "name": "files", "url": "https://files.example.com/mcp"}],
    }
)
LOOK = SourceTool("look", "Looks.", {"type": "object", "properties": {}}, requires_approval=False)


class Server:
    """A source of tools that is up, down, or does not answer."""

    def __init__(self, *, may_recover: bool = True) -> None:
        self.is_up = False
        self.is_stale = False
        self.requests = 0
        self.silence: asyncio.Event | None = None
        """While set, it answers nobody before the event."""
        self._may_recover = may_recover

    def get_origin(self, definition: ToolDefinition) -> str:
        return "mcp:files"

    def find_endpoint(self, definition: ToolDefinition) -> str | None:
        return None

    def must_ask(self, definition: ToolDefinition) -> bool:
        return self.is_stale

    def may_recover(self, definition: ToolDefinition) -> bool:
        return self._may_recover

    async def list_tools(self, definition: ToolDefinition) -> Sequence[SourceTool]:
        self.requests += 1
        if self.silence is not None:
            await self.silence.wait()
        if not self.is_up:
            raise Unreachable("The server cannot be reached.")
        return [LOOK]

    async def call(
        self, definition: ToolDefinition, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        return ToolResult("Seen.")


class Turns:
    """Turns of an agent whose tools a server offers."""

    def __init__(self, server: Server) -> None:
        self.time = Monotonic()
        self.toolbox = Toolbox(
            {McpServer: lambda: server},
            HeaderValues(NoSecrets(), NoSecrets(), "dev"),
            find_position=lambda definition: "agents/helper.yaml:7: tools.0.url",
            monotonic=self.time,
        )

    async def list_offered(self) -> tuple[list[str], list[str]]:
        """The tools of a turn: their names, and the reasons for missing ones."""
        result = await self.toolbox.offered(AGENT, ADA)
        return [tool.spec.name for tool in result.tools], [missing.reason for missing in result.missing]


async def test_a_broken_source_is_asked_once_and_left_out_of_the_turns_that_follow() -> None:
    turns = Turns(server := Server())
    for _ in range(3):
        assert await turns.list_offered() == ([], ["The server cannot be reached."])
    assert server.requests == 1


async def test_a_broken_source_is_tried_again_beside_a_turn_that_does_not_wait_for_it() -> None:
    turns = Turns(server := Server())
    await turns.list_offered()
    server.silence = asyncio.Event()
    turns.time.pass_(RETRY_SECONDS)
    for _ in range(3):
        assert await turns.list_offered() == ([], ["The server cannot be reached."])
        await asyncio.sleep(0)
    assert server.requests == 2

    server.is_up = True
    server.silence.set()
    await turns.toolbox.wait_for_refreshes()
    assert await turns.list_offered() == (["look"], [])


async def test_a_broken_source_is_tried_once_in_each_interval() -> None:
    turns = Turns(server := Server())
    for _ in range(10):
        await turns.list_offered()
        await turns.toolbox.wait_for_refreshes()
        turns.time.pass_(RETRY_SECONDS / 2)
    assert server.requests == 5


async def test_a_permanent_failure_is_not_tried_again() -> None:
    turns = Turns(server := Server(may_recover=False))
    await turns.list_offered()
    turns.time.pass_(1_000_000)
    await turns.list_offered()
    await turns.toolbox.wait_for_refreshes()
    assert server.requests == 1


async def test_an_old_list_serves_while_the_list_is_read_again() -> None:
    turns = Turns(server := Server())
    server.is_up = True
    assert await turns.list_offered() == (["look"], [])
    server.is_stale, server.is_up, server.silence = True, False, asyncio.Event()
    for _ in range(3):
        assert await turns.list_offered() == (["look"], [])
        await asyncio.sleep(0)
    assert server.requests == 2
    server.silence.set()
    await turns.toolbox.wait_for_refreshes()
    assert await turns.list_offered() == ([], ["The server cannot be reached."])


async def test_a_turn_that_is_stopped_leaves_the_attempt_alone() -> None:
    turns = Turns(server := Server())
    await turns.list_offered()
    server.silence = asyncio.Event()
    turns.time.pass_(RETRY_SECONDS)
    turn = asyncio.ensure_future(turns.list_offered())
    await asyncio.sleep(0)
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    server.is_up = True
    await turns.list_offered()
    server.silence.set()
    await turns.toolbox.wait_for_refreshes()
    assert await turns.list_offered() == (["look"], [])


async def test_an_outage_and_its_end_are_logged_once_with_the_line_of_the_definition(
    caplog: pytest.LogCaptureFixture,
) -> None:
    turns = Turns(server := Server())
    for _ in range(4):
        await turns.list_offered()
        await turns.toolbox.wait_for_refreshes()
        turns.time.pass_(RETRY_SECONDS)
    server.is_up = True
    await turns.list_offered()
    await turns.toolbox.wait_for_refreshes()
    assert [record.getMessage() for record in caplog.records] == [
        "agents/helper.yaml:7: tools.0.url: files cannot be used: The server cannot be reached. "
        "Turns go on without it; it is tried again during later turns.",
        "agents/helper.yaml:7: tools.0.url: the tools of files are back.",
    ]


async def test_a_call_of_a_missing_tool_asks_nobody() -> None:
    turns = Turns(server := Server())
    await turns.list_offered()
    context = CallContext(ADA, "t1", "r1", "helper", "c1", "k1")
    with pytest.raises(ToolFailed, match="cannot be reached") as failure:
        await turns.toolbox.call(AGENT, "look", {}, context)
    assert failure.value.is_outage
    assert server.requests == 1


async def test_a_tenants_failing_tools_open_no_circuit_of_others() -> None:
    server, guarded = Server(), NotedGuards()
    server.find_endpoint = lambda definition: "mcp:files.example.com"  # type: ignore[method-assign]
    server.is_stale = True
    tools = Toolbox({McpServer: lambda: server}, HeaderValues(NoSecrets(), NoSecrets(), "dev"), guards=guarded)
    await tools.offered(AGENT, ADA)
    for tenant in ("acme", "globex"):
        await tools.offered(AGENT.model_copy(deep=True).of_tenant(tenant, 1), Scope(tenant, "ada"))
    assert guarded.names == [" mcp:files.example.com", "acme mcp:files.example.com", "globex mcp:files.example.com"]


async def test_the_tools_of_definitions_that_are_used_no_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_listings, "MAX_LISTINGS", 2)
    server = Server()
    server.is_up = True
    tools = Toolbox({McpServer: lambda: server}, HeaderValues(NoSecrets(), NoSecrets(), "dev"))
    agents = [AGENT.model_copy(deep=True).of_tenant("acme", number) for number in range(3)]
    for item in (agents[0], agents[1], agents[0], agents[2], agents[0]):
        await tools.offered(item, ADA)
    assert server.requests == 3
    await tools.offered(agents[1], ADA)
    assert server.requests == 4


class NotedGuards:
    """Circuit breakers that note the names of their circuits."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def guard(self, name: str, **_caller: str | None) -> contextlib.AbstractAsyncContextManager[None]:
        self.names.append(name)
        return contextlib.nullcontext()


class Echoing(Server):
    """A server that writes a secret into each part of its answers."""

    async def call(
        self, definition: ToolDefinition, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        source = {"kind": "resource", "id": "s-123456"}
        return ToolResult("s-123456", (source,), is_pending=True, location="/1", progress="s-123456")

    async def read_task(
        self, definition: ToolDefinition, location: str, context: CallContext, *, deletes: bool
    ) -> ToolResult:
        return await self.call(definition, "look", {}, context)


async def test_no_part_of_a_result_has_a_secret() -> None:
    headers = HeaderValues(NoSecrets(), NoSecrets(), "dev")
    headers._recent_secrets.add("s-123456")
    server = Echoing()
    server.is_up = True
    toolbox = Toolbox({McpServer: lambda: server}, headers)
    context = CallContext(ADA, "t1", "r1", AGENT.id, "c1", "key-1")
    for result in (
        await toolbox.call(AGENT, "look", {}, context),
        await toolbox.read_task(AGENT, "look", "/1", context),
    ):
        assert (result.text, result.progress, result.location) == ("[secret]", "[secret]", "/1")
        assert result.sources == ({"kind": "resource", "id": "[secret]"},)


class Raising(Server):
    """A server whose tools raise what a bad argument leads to."""

    async def call(
        self, definition: ToolDefinition, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        return ToolResult({"A-1": "sent"}[arguments["number"]])


@pytest.mark.parametrize("logs_messages", [False, True])
async def test_the_message_and_traceback_of_a_tool_are_logged_on_a_developers_machine_only(
    logs_messages: bool, caplog: pytest.LogCaptureFixture
) -> None:
    headers = HeaderValues(NoSecrets(), NoSecrets(), "dev")
    server = Raising()
    server.is_up = True
    toolbox = Toolbox({McpServer: lambda: server}, headers, logs_messages=logs_messages)
    context = CallContext(ADA, "t1", "r1", AGENT.id, "c1", "key-1")
    with pytest.raises(ToolFailed) as raised:
        await toolbox.call(AGENT, "look", {"number": "A-9"}, context)
    assert "A-9" not in raised.value.message
    assert ("KeyError: 'A-9'" in caplog.text) is logs_messages
    assert ("Traceback (most recent call last)" in caplog.text) is logs_messages
    line = Raising.call.__code__.co_firstlineno + 3
    assert (f"failed: {__file__}:{line}: KeyError: 'A-9'" in caplog.text) is logs_messages
    assert "KeyError" in caplog.text
