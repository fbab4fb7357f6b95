"""Answers of MCP servers that keep sessions: their statuses, lost sessions, and lists that are old."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.mcp import McpTools
from baton.adapters.tools.mcp_answers import list_causes, repair_result
from baton.adapters.tools.toolbox import Toolbox
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import McpServer
from baton.domain.tenants.identity import Scope
from baton.ports.agents.tools import CallContext, ToolFailed
from tests.unit.adapters.tools.no_secrets import NoSecrets
from tests.unit.adapters.tools.session_server import LOOKUP, SessionServer, make_failure, make_text_result
from tests.unit.identity.signing import Monotonic

ADA = Scope("acme", "ada")
AGENT = AgentDefinition.model_validate(
    {
        "id": "helper",
        "name": "Helper",
        "description": "Helps.",
        "system_prompt": "Help.",
        "tools": [{"type": "mcp", "name": "files", "url": "https://files.example/mcp"}],
    }
)
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
OTHER = {**LOOKUP, "name": "other"}


def page(status: int) -> Response:
    """The page of a proxy."""
    return Response("<html>Bad Gateway</html>", status, media_type="text/html")


class Client:
    """A toolbox over one server."""

    def __init__(self, server: SessionServer) -> None:
        self.time = Monotonic()
        headers = HeaderValues(NoSecrets(), NoSecrets(), "dev")
        tools = McpTools(server.client, headers, monotonic=self.time)
        self.toolbox = Toolbox({McpServer: lambda: tools}, headers, monotonic=self.time)

    async def call(self, name: str = "lookup") -> str:
        context = CallContext(ADA, "t1", "r1", AGENT.id, "c1", "key-1")
        return (await self.toolbox.call(AGENT, name, {}, context)).text

    async def names(self) -> set[str]:
        """The tools that the next turn offers."""
        await self.toolbox.wait_for_refreshes()
        return {tool.spec.name for tool in (await self.toolbox.offered(AGENT, ADA)).tools}


REFUSALS: list[tuple[Callable[[], Any], str, bool]] = [
    (lambda: JSONResponse({"error": "invalid_token"}, 401), "credentials", False),
    (lambda: JSONResponse({"error": "insufficient_scope"}, 403), "credentials", False),
    (lambda: make_failure(-32001, "Unauthorized", 401), "credentials", False),
    (lambda: JSONResponse({"error": "slow down"}, 429), "too often", True),
    (lambda: make_failure(-32000, "Too many requests", 429), "too often", True),
    (lambda: page(502), r"failed \(HTTP 502\)", True),
    (lambda: make_failure(-32603, "Internal error", 500), r"failed \(HTTP 500\)", True),
    (lambda: JSONResponse({}, 418), r"refuses the request \(HTTP 418\)", True),
    (lambda: make_failure(-32602, "key is required", 400), "key is required", False),
    (lambda: make_failure(-32602, "key is required"), "key is required", False),
    (lambda: make_failure(-32603, "The database is away"), "The database is away", True),
    (lambda: make_failure(-32042, "Ask for less"), "Ask for less", False),
]


@pytest.mark.parametrize("closing", [200, 405, 500])
@pytest.mark.parametrize(("answer", "words", "is_outage"), REFUSALS)
async def test_the_status_of_a_call_is_its_own(
    answer: Callable[[], Any], words: str, closing: int, *, is_outage: bool
) -> None:
    client = Client(SessionServer(call=answer, closing=lambda: JSONResponse({}, closing)))
    with pytest.raises(ToolFailed, match=words) as failure:
        await client.call()
    assert failure.value.is_outage is is_outage


@pytest.mark.parametrize(
    "lost",
    [
        lambda: make_failure(-32001, "Session not found", 404),
        lambda: JSONResponse({"error": "gone"}, 404),
        lambda: Response(status_code=404),
        lambda: make_failure(-32000, "Bad Request: No valid session ID provided", 400),
    ],
)
async def test_a_lost_session_is_replaced_once(lost: Callable[[], Any]) -> None:
    answers = chain([lost()], repeat(make_text_result("found")))
    server = SessionServer(call=lambda: next(answers))
    assert await Client(server).call() == "found"
    server = SessionServer(call=lost)
    with pytest.raises(ToolFailed, match="lost the session") as failure:
        await Client(server).call()
    assert failure.value.is_outage
    assert server.methods.count("tools/call") == 2


async def test_a_session_that_does_not_end_well_spoils_no_answer() -> None:
    def fail() -> Response:
        raise RuntimeError("the server is gone")

    assert await Client(SessionServer(closing=fail)).call() == "found"


async def test_a_tool_that_runs_as_a_task_only_is_not_offered() -> None:
    tools = [
        LOOKUP | {"execution": {"taskSupport": support}, "name": support}
        for support in ("required", "optional", "forbidden")
    ]
    client = Client(SessionServer(tools=tools))
    assert await client.names() == {"optional", "forbidden"}
    with pytest.raises(ToolFailed, match="There is no tool"):
        await client.call("required")


async def test_a_notification_beside_a_result_shows_that_the_list_is_old() -> None:
    server = SessionServer(notifications=[CHANGED])
    client = Client(server)
    assert await client.names() == {"lookup"}
    server.tools = [LOOKUP, OTHER]
    assert await client.call() == "found"
    assert await client.names() == {"lookup", "other"}


@pytest.mark.parametrize(
    "unknown",
    [
        lambda: make_failure(-32602, "Unknown tool: lookup"),
        lambda: make_failure(-32602, "MCP error -32602: Tool lookup not found", 400),
        lambda: make_failure(-32601, "no tool"),
        lambda: make_text_result("Unknown tool: lookup", isError=True),
        lambda: make_text_result("MCP error -32602: Tool lookup not found", isError=True),
        lambda: make_text_result("Tool lookup disabled", isError=True),
    ],
)
async def test_an_unknown_tool_shows_that_the_list_is_old(unknown: Callable[[], Any]) -> None:
    server = SessionServer(call=unknown)
    client = Client(server)
    assert await client.names() == {"lookup"}
    server.tools = [OTHER]
    with pytest.raises(ToolFailed):
        await client.call()
    assert await client.names() == {"other"}


async def test_a_failure_of_another_kind_leaves_the_list() -> None:
    server = SessionServer(call=lambda: make_text_result("The record 7 was not found.", isError=True))
    client = Client(server)
    with pytest.raises(ToolFailed):
        await client.call()
    await client.names()
    assert server.methods.count("tools/list") == 1


@pytest.mark.parametrize(("milliseconds", "seconds"), [(0, 5), (60_000, 60), (86_400_000, 300), (None, 300)])
async def test_a_list_is_kept_for_the_time_that_its_server_gives(milliseconds: int | None, seconds: int) -> None:
    fields = {"resultType": "complete", "cacheScope": "private", "ttlMs": milliseconds}
    server = SessionServer(is_modern=milliseconds is not None, listed=fields if milliseconds is not None else {})
    client = Client(server)
    await client.names()
    client.time.pass_(seconds - 1)
    await client.names()
    await client.toolbox.wait_for_refreshes()
    assert server.methods.count("tools/list") == 1
    client.time.pass_(1)
    await client.names()
    await client.toolbox.wait_for_refreshes()
    assert server.methods.count("tools/list") == 2


WRONG: list[Any] = ["wrong", 7, ["wrong"], {"readOnlyHint": {}, "audience": 7, "priority": "high"}]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(
    "member", ["title", "annotations", "_meta", "icons", "outputSchema", "execution", "description"]
)
async def test_a_wrong_optional_member_of_a_tool_costs_no_tool(member: str, wrong: Any) -> None:
    client = Client(SessionServer(tools=[LOOKUP | {member: wrong}, OTHER]))
    assert await client.names() == {"lookup", "other"}


BROKEN: list[Any] = [
    {"name": "broken"},
    {"inputSchema": {}},
    {**OTHER, "name": 7},
    {**OTHER, "inputSchema": {"type": "string"}},
    {**OTHER, "inputSchema": {"type": "object", "properties": ["key"]}},
    {**OTHER, "inputSchema": {"type": "object", "required": "key"}},
    "broken",
    None,
]


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_broken_tool_costs_no_other(broken: Any) -> None:
    assert await Client(SessionServer(tools=[broken, LOOKUP])).names() == {"lookup"}


@pytest.mark.parametrize("schema", [{}, {"type": "object", "properties": None}, {"properties": {}, "required": None}])
async def test_a_schema_that_says_little_is_one_of_an_object(schema: Any) -> None:
    assert await Client(SessionServer(tools=[LOOKUP | {"inputSchema": schema}])).names() == {"lookup"}


@pytest.mark.parametrize("is_modern", [True, False])
@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": [{"type": "text", "text": "found", "annotations": {"priority": "high"}}]}, "found"),
        ({"content": [{"type": "text", "text": "found", "_meta": "wrong"}]}, "found"),
        ({"content": [{"type": "text", "text": "found"}, {"type": "hologram"}]}, "found\n[Content of a kind"),
        ({"content": [{"type": "text"}, {"type": "text", "text": "found"}]}, "[Content of a kind"),
        ({"content": [{"type": "text", "text": "found"}], "structuredContent": None}, "found"),
        ({"content": [], "structuredContent": [1, 2]}, "[1, 2]"),
    ],
)
async def test_a_wrong_member_of_a_result_costs_no_result(result: Any, text: str, *, is_modern: bool) -> None:
    fields = {"resultType": "complete"} if is_modern else {}
    server = SessionServer(call=lambda: result | fields, is_modern=is_modern)
    server.listed = fields | {"cacheScope": "private", "ttlMs": 60_000} if is_modern else {}
    assert text in await Client(server).call()


def test_each_cause_of_an_error_is_read_once() -> None:
    causes: list[Exception] = [ValueError("0")]
    for number in range(1, 12):
        try:
            try:
                raise causes[0]
            except ValueError as cause:
                raise ValueError(str(number)) from cause  # so that it is the cause and the context
        except ValueError as error:
            causes.insert(0, error)
    assert list(list_causes(ExceptionGroup("of a task group", [causes[0]]))) == causes


@pytest.mark.parametrize("block", [{"type": []}, {"type": {}}, {"type": None}, {}, "text", None])
def test_content_of_an_unknown_form_is_replaced_by_a_note(block: Any) -> None:
    [replaced] = repair_result({"content": [block]})["content"]
    assert replaced["text"] == "[Content of a kind that is not understood here.]"


@pytest.mark.parametrize(("name", "value"), [("isError", None), ("isError", "no"), ("_meta", []), ("nextCursor", 5)])
def test_optional_members_of_a_result_that_have_another_form_are_dropped(name: str, value: object) -> None:
    content = [{"type": "text", "text": "Sunny."}]
    assert repair_result({"content": content, name: value}) == {"content": content}
