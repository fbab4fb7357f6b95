"""Tools as agents' files declare them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from baton.adapters.agents.agent_files import AgentFileError, read_agent
from baton.adapters.tools.tool_source import assign_names
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import BUILTIN_TOOLS

MCP = {"type": "mcp", "name": "files", "url": "https://mcp.example.com/mcp"}
HTTP = {"type": "http", "name": "fetch", "description": "Fetches.", "url": "https://api.example.com/x"}
OPENAPI = {"type": "openapi", "spec": "https://api.example.com/openapi.json", "operation_id": "pets.list"}
PYTHON = {"type": "python", "name": "greet", "description": "Greets.", "entry_point": "acme.tools:greet"}
SECRET = {"secret": "baton/{stage}/tools/x"}


def agent(*tools: dict[str, Any]) -> AgentDefinition:
    return AgentDefinition.model_validate(
        {"id": "a", "name": "A", "description": "A.", "system_prompt": "A.", "tools": tools}
    )


def one(**fields: Any) -> Any:
    return agent(fields).tools[0]


def test_each_kind_has_its_defaults() -> None:
    server, http, openapi, python = agent(MCP, HTTP, OPENAPI, PYTHON).tools
    assert {tool.timeout_seconds for tool in (server, http, openapi, python)} == {30}
    assert not any(tool.requires_approval for tool in (server, http, openapi, python))
    assert openapi.name == "pets_list"


@pytest.mark.parametrize(
    "fields",
    [
        {**MCP, "colour": "red"},
        {**MCP, "type": "ftp"},
        {**MCP, "url": "ftp://example.com"},
        {**MCP, "url": "mcp.example.com"},
        {**MCP, "url": "https://user:password@example.com/"},
        {**MCP, "name": "a.b"},
        {**MCP, "include": []},
        {**MCP, "timeout_seconds": 0},
        {**MCP, "required_permissions": ["Not A Permission"]},
        {**HTTP, "name": "x" * 65},
        {**HTTP, "name": "ask_somebody"},
        {**HTTP, "name": "transfer_to_sales"},
        {**HTTP, "name": "end_conversation"},
        {**HTTP, "url": "https://{host}/x"},
        {**HTTP, "url": "https://api.example.com/{id}"},
        {**HTTP, "url": "https://api.example.com/{id}", "parameters": {"type": "object", "properties": {"id": {}}}},
        {**HTTP, "url": "https://api.example.com/{id"},
        {**HTTP, "parameters": {"type": "string"}},
        {**HTTP, "parameters": {"type": "object", "properties": {"a": {"type": "nonsense"}}}},
        {**OPENAPI, "spec": "/etc/passwd"},
        {**OPENAPI, "spec": "../secrets.yaml"},
        {**OPENAPI, "spec": "file:///etc/passwd"},
        {**OPENAPI, "operation_id": "ask.me"},
        {**PYTHON, "entry_point": "os.system"},
        {**PYTHON, "entry_point": "os:system()"},
    ],
)
def test_what_is_wrong_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        agent(fields)


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer x"},
        {"authorization": "Bearer x"},
        {"X-API-Key": "x"},
        {"Cookie": "a=b"},
        {"Proxy-Authorization": "x"},
        {"Host": "evil.example.com"},
        {"Content-Length": "0"},
        {"X-A": "1\r\nX-B: 2"},
        {"X A": "1"},
        {"X-A": "1", "x-a": "2"},
        {"X-A": {}},
        {"X-A": {"secret": "a", "parameter": "/a"}},
        {"X-A": {"parameter": "/a", "key": "k"}},
        {"X-A": {"parameter": "no-slash"}},
        {"X-A": {"secret": "a/{tenant}"}},
        {"X-A": {**SECRET, "format": "Bearer"}},
        {"X-A": {**SECRET, "format": "{} {}"}},
        {"X-A": {**SECRET, "format": "{}\r\nX-B: 2"}},
        {"X-A": {**SECRET, "colour": "red"}},
    ],
)
def test_headers_that_hold_credentials_or_break_requests_are_refused(headers: dict[str, Any]) -> None:
    for tool in (MCP, HTTP, OPENAPI):
        with pytest.raises(ValidationError):
            agent({**tool, "headers": headers})


def test_a_literal_credential_is_not_quoted_by_the_error(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "id: a\nname: A\ndescription: A.\nsystem_prompt: A.\ntools:\n"
        "  - type: mcp\n    name: files\n    url: https://mcp.example.com\n"
        "    headers:\n      Authorization: Bearer hunter2\n"
    )
    with pytest.raises(AgentFileError) as refusal:
        read_agent(file)[1]
    assert f"{file}:9: tools.0.headers: " in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="two of the tools are named 'fetch'"):
        agent(HTTP, {**PYTHON, "name": "fetch"})


def test_tools_are_shown_with_references_instead_of_secrets() -> None:
    headers = {"Authorization": {**SECRET, "format": "Bearer {}"}, "X-Plain": "1"}
    visible = agent({**MCP, "headers": headers, "requires_approval": ["a"]}).model_dump(by_alias=True, mode="json")[
        "tools"
    ]

    assert visible == [
        {
            "type": "mcp",
            "name": "files",
            "url": "https://mcp.example.com/mcp",
            "headers": {"Authorization": {**SECRET, "format": "Bearer {}"}, "X-Plain": "1"},
            "include": None,
            "requiresApproval": ["a"],
            "label": {},
            "asks": {},
            "background": None,
            "requiredPermissions": [],
            "timeoutSeconds": 30.0,
        }
    ]


def test_a_tool_that_acts_for_the_user_cannot_work_in_the_background() -> None:
    target = {"token_url": "https://a.example/token", "client_id": "x", "client_secret": SECRET, "scope": "read"}
    headers = {"Authorization": {"token_exchange": target}}
    assert one(**HTTP, headers=headers).background is None
    assert one(**HTTP, headers={"Authorization": {**SECRET, "format": "Bearer {}"}}, background={}).background
    with pytest.raises(ValidationError, match="give the header a secret instead, or leave background out"):
        one(**HTTP, headers=headers, background={})


def test_approval_is_needed_for_all_tools_of_a_server_or_for_those_named() -> None:
    assert one(**MCP, requires_approval=True).needs_approval("any")
    assert not one(**MCP).needs_approval("any")
    assert one(**MCP, requires_approval=["files.delete"]).needs_approval("files.delete")
    assert not one(**MCP, requires_approval=["files.delete"]).needs_approval("files.read")


servers = st.sampled_from(["a", "b", "ask"])
tool_names = st.one_of(
    st.sampled_from(["search", "a.b", "a_b", "a b", "b_search", "end_conversation", "ask_x", ""]), st.text(max_size=80)
)


@given(st.lists(st.tuples(servers, tool_names), unique=True, max_size=12), st.sets(st.sampled_from(["search", "a_b"])))
def test_every_listed_tool_gets_a_name_of_its_own_that_a_model_accepts(
    listed: list[tuple[str, str]], declared: set[str]
) -> None:
    names = assign_names(declared, listed)

    assert set(names) == set(listed)
    assert len(set(names.values())) == len(listed)
    assert not set(names.values()) & declared
    for name in names.values():
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
        assert BUILTIN_TOOLS.fullmatch(name) is None
    assert assign_names(declared, listed[::-1]) == names
