"""Tools of real MCP servers, well and unwell."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from baton.adapters.egress import EgressPolicy
from baton.ports.agents.tools import ToolFailed
from tests.integration.tools.harness import ADA, Harness, agent_with, mcp, mcp_server
from tests.unit.adapters.egress.serving import reply, serving


async def test_a_servers_tools_are_offered_under_names_a_model_accepts(harness: Harness, files_port: int) -> None:
    offered = await harness.toolbox.offered(agent_with(mcp(files_port, timeout_seconds=7)), ADA)

    tools = {tool.spec.name: tool for tool in offered.tools}
    assert {"add", "files_search", "weather", "hang"} <= set(tools)
    assert offered.missing == ()
    assert tools["add"].spec.description == "Add two numbers."
    assert set(tools["add"].spec.parameters["properties"]) == {"a", "b"}
    assert (tools["add"].origin, tools["add"].timeout_seconds) == ("mcp:files", 7)


async def test_only_the_tools_that_are_included_are_offered(harness: Harness, files_port: int) -> None:
    agent = agent_with(mcp(files_port, include=["add", "files.search"], requires_approval=["files.search"]))

    offered = await harness.toolbox.offered(agent, ADA)

    assert {tool.spec.name: tool.requires_approval for tool in offered.tools} == {"add": False, "files_search": True}
    with pytest.raises(ToolFailed, match="no tool 'weather'"):
        await harness.call(agent, "weather", city="Rome")


async def test_a_tools_text_is_its_result(harness: Harness, files_port: int) -> None:
    agent = agent_with(mcp(files_port))
    assert (await harness.call(agent, "add", a=2, b=3)).text == "5"
    assert (await harness.call(agent, "files_search", query="notes")).text == "files found notes"


async def test_structured_content_is_reported_once(harness: Harness, files_port: int) -> None:
    answer = await harness.call(agent_with(mcp(files_port)), "weather", city="Rome")
    assert json.loads(answer.text) == {"city": "Rome", "degrees": 21.5}


async def test_a_result_is_not_checked_by_the_servers_own_schema(harness: Harness, files_port: int) -> None:
    """Patterns of the server's schema would be matched by ``re``, on the event loop."""
    answer = await harness.call(agent_with(mcp(files_port)), "unlike_its_schema")
    assert json.loads(answer.text) == {"city": "a" * 18 + "!"}


async def test_links_become_sources_and_images_are_named(harness: Harness, files_port: int) -> None:
    answer = await harness.call(agent_with(mcp(files_port)), "mixed")

    assert answer.text.splitlines() == [
        "first",
        "[image, image/png, 6 bytes, not shown]",
        "[Report](https://example.com/report)",
        "last",
        '{"rows": [1, 2]}',
    ]
    [source] = answer.sources
    url = "https://example.com/report"
    assert dict(source) == {"kind": "resource", "id": url, "title": "Report", "url": url}


async def test_a_tools_own_error_is_reported_in_its_words(harness: Harness, files_port: int) -> None:
    with pytest.raises(ToolFailed, match="cannot: no reason"):
        await harness.call(agent_with(mcp(files_port)), "refuse", reason="no reason")


async def test_bad_arguments_are_reported(harness: Harness, files_port: int) -> None:
    with pytest.raises(ToolFailed, match=r"[Ii]nvalid|valid integer"):
        await harness.call(agent_with(mcp(files_port)), "add", a="two", b=3)


async def test_a_call_ends_at_its_time_limit(harness: Harness, files_port: int) -> None:
    with pytest.raises(ToolFailed, match=r"within 0\.5 seconds"):
        await harness.call(agent_with(mcp(files_port, timeout_seconds=0.5)), "hang")


async def test_a_call_can_be_cancelled_and_the_next_one_works(harness: Harness, files_port: int) -> None:
    agent = agent_with(mcp(files_port))
    call = asyncio.create_task(harness.call(agent, "hang"))
    await asyncio.wait([call], timeout=0.3)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await harness.call(agent, "add", a=1, b=1)).text == "2"


async def test_many_calls_at_once_keep_their_answers_apart(harness: Harness, files_port: int) -> None:
    agent = agent_with(mcp(files_port))
    answers = await asyncio.gather(*(harness.call(agent, "add", a=number, b=0) for number in range(8)))
    assert [answer.text for answer in answers] == [str(number) for number in range(8)]


async def test_a_server_that_dies_in_a_call_fails_that_call_and_is_missing_then(harness: Harness) -> None:
    with mcp_server() as port:
        agent = agent_with(mcp(port))
        with pytest.raises(ToolFailed, match=r"broke off|cannot be reached"):
            await harness.call(agent, "die")

        harness.time.pass_(300)
        await harness.toolbox.offered(agent, ADA)
        await harness.toolbox.wait_for_refreshes()
        offered = await harness.toolbox.offered(agent, ADA)
        assert offered.tools == ()
        assert [missing.origin for missing in offered.missing] == ["mcp:files"]


async def test_a_tool_that_the_server_no_longer_knows_is_gone_from_the_list(harness: Harness) -> None:
    with mcp_server() as port:
        agent = agent_with(mcp(port))
        await harness.toolbox.offered(agent, ADA)
        await harness.call(agent, "forget")
        with pytest.raises(ToolFailed):
            await harness.call(agent, "add", a=1, b=1)

        await harness.toolbox.offered(agent, ADA)
        await harness.toolbox.wait_for_refreshes()
        names = {tool.spec.name for tool in (await harness.toolbox.offered(agent, ADA)).tools}
        assert "add" not in names
        assert "weather" in names


async def test_a_list_is_asked_for_again_after_five_minutes(harness: Harness) -> None:
    with mcp_server() as port:
        agent = agent_with(mcp(port))
        await harness.toolbox.offered(agent, ADA)
        await harness.call(agent, "forget")
        assert "add" in {tool.spec.name for tool in (await harness.toolbox.offered(agent, ADA)).tools}
        harness.time.pass_(300)
        assert "add" in {tool.spec.name for tool in (await harness.toolbox.offered(agent, ADA)).tools}
        await harness.toolbox.wait_for_refreshes()
        assert "add" not in {tool.spec.name for tool in (await harness.toolbox.offered(agent, ADA)).tools}


async def test_tools_of_the_same_name_have_their_servers_name_in_front(harness: Harness, files_port: int) -> None:
    with mcp_server("notes") as port:
        agent = agent_with(
            mcp(files_port, include=["files.search"]), mcp(port, "notes", include=["files.search", "add"])
        )

        names = [tool.spec.name for tool in (await harness.toolbox.offered(agent, ADA)).tools]
        assert sorted(names) == ["add", "files_files_search", "notes_files_search"]
        assert (await harness.call(agent, "notes_files_search", query="x")).text == "notes found x"

    harness.time.pass_(300)
    assert (await harness.call(agent, "files_files_search", query="y")).text == "files found y"


async def test_one_source_that_is_out_of_reach_does_not_take_the_others_along(
    harness: Harness, files_port: int
) -> None:
    agent = agent_with(mcp(files_port, include=["add"]), mcp(9, "gone"))

    offered = await harness.toolbox.offered(agent, ADA)

    assert [tool.spec.name for tool in offered.tools] == ["add"]
    [missing] = offered.missing
    assert missing.origin == "mcp:gone"
    assert "cannot be reached" in missing.reason


async def test_a_server_that_keeps_silent_is_missing_after_the_listing_deadline(harness: Harness) -> None:
    harness.listing_seconds = 0.3

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent) as port:
        offered = await harness.toolbox.offered(agent_with(mcp(port)), ADA)

    assert [missing.origin for missing in offered.missing] == ["mcp:files"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply(b"<html>Sign in</html>", "Content-Type: text/html"), "not MCP"),
        (reply(b"{", "Content-Type: application/json"), "cannot be understood"),
        (reply(b"no", "Content-Type: application/json", status="401 Unauthorized"), "credentials"),
        (reply(b"oops", status="503 Service Unavailable"), r"failed \(HTTP 503\)"),
        (reply(b"", "Location: http://169.254.169.254/", status="307 Temporary Redirect"), "cannot be understood"),
        (b"garbage\r\n\r\n", "broke off|cannot be reached"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{", "broke off"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n", "broke off"),
        (b"", "broke off|cannot be reached"),
    ],
)
async def test_a_server_that_does_not_speak_mcp_is_missing(harness: Harness, answer: bytes, words: str) -> None:
    async with serving(answer) as port:
        offered = await harness.toolbox.offered(agent_with(mcp(port)), ADA)

    [missing] = offered.missing
    assert re.search(words, missing.reason)


async def test_an_answer_that_is_too_large_is_not_read(harness: Harness, files_port: int) -> None:
    agent = agent_with(mcp(files_port))
    with pytest.raises(ToolFailed, match="longer than 10485760 bytes"):
        await harness.call(agent, "big", size=11 * 1024 * 1024)
    assert len((await harness.call(agent, "big", size=3 * 1024 * 1024)).text) == 3 * 1024 * 1024


async def test_credentials_are_sent_and_never_shown(
    harness: Harness, files_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    harness.secrets.values["baton/dev/tools/files"] = json.dumps({"token": "s3cr3t-token"})
    reference = {"secret": "baton/{stage}/tools/files", "key": "token", "format": "Bearer {}"}
    agent = agent_with(mcp(files_port, headers={"Authorization": reference}))

    with caplog.at_level("DEBUG"):
        answer = await harness.call(agent, "headers")

    assert answer.text == "Bearer [secret]"
    assert "s3cr3t-token" not in caplog.text


async def test_a_server_that_the_deployment_may_not_call_is_missing(harness: Harness) -> None:
    harness.policy = EgressPolicy(("api.example.com",))
    agent = agent_with({"type": "mcp", "name": "files", "url": "https://files.example.com/mcp"})

    [missing] = (await harness.toolbox.offered(agent, ADA)).missing

    assert "not among the hosts that this deployment may call" in missing.reason


async def test_a_servers_titles_are_labels_and_a_question_that_does_not_fit_its_tool_is_left_out(
    harness: Harness, files_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    asks = {"files.search": "Look for {query}?", "add": "Add {a} and {c}?"}
    agent = agent_with(
        mcp(files_port, include=["add", "files.search"], requires_approval=True, label={"add": "Sum"}, asks=asks)
    )
    tools = {tool.spec.name: tool for tool in (await harness.toolbox.offered(agent, ADA)).tools}
    assert (tools["add"].label, tools["add"].asks) == ("Sum", None)
    assert (tools["files_search"].label, tools["files_search"].asks) == ("File search", "Look for {query}?")
    assert "{c}, which is no argument of the tool" in caplog.text
