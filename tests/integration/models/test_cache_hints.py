"""Hints of requests to prompt caches, and endpoints' reports of them."""

from __future__ import annotations

import pytest

from baton.adapters.models.profiles.known_profiles import find_declared_profile, find_host
from baton.adapters.models.profiles.profile import CacheHints, read_hints
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, ModelSettings, Prompt, ToolSpec
from tests import fault_model as fault
from tests.fault_model import FaultModel
from tests.integration.models.asking import FILES, SETTINGS, MakeModel, ask

KEYED = ModelSettings(model="gpt-x", timeout_seconds=30, cache_key="k1")
MARKED = (
    Prompt(Role.SYSTEM, "Be kind.", ends_prefix=True),
    Prompt(Role.USER, "Add."),
    Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("c1", "add", "{}"),)),
    Prompt(Role.TOOL, "3", tool_call_id="c1", ends_prefix=True),
    Prompt(Role.USER, "And now?"),
)


def part(text: str, *, marked: bool = True) -> dict[str, object]:
    return {"type": "text", "text": text} | ({"cache_control": {"type": "ephemeral"}} if marked else {})


async def test_nothing_is_reported_unless_it_is_set(make_model: MakeModel, fault_model: FaultModel) -> None:
    await ask(make_model(), KEYED, *MARKED)
    assert "prompt_cache_key" not in fault_model.bodies[0]
    assert "cache_control" not in str(fault_model.bodies[0])


async def test_a_key_marks_requests_that_begin_alike(make_model: MakeModel, fault_model: FaultModel) -> None:
    model = make_model(cache_hints=CacheHints.KEY)
    await ask(model, KEYED, *MARKED)
    await ask(model)
    assert [body.get("prompt_cache_key") for body in fault_model.bodies] == ["k1", None]
    assert "cache_control" not in str(fault_model.bodies)


async def test_breakpoints_mark_what_later_requests_repeat(make_model: MakeModel, fault_model: FaultModel) -> None:
    model = make_model(cache_hints=CacheHints.BREAKPOINTS)
    add = ToolSpec("add", "Adds numbers.", {"type": "object", "properties": {}})
    async for _ in model.stream(KEYED, MARKED, thread_files=FILES, tools=[add]):
        pass
    body = fault_model.bodies[0]
    assert "prompt_cache_key" not in body
    contents = [message["content"] for message in body["messages"]]
    assert contents == [[part("Be kind.")], "Add.", None, [part("3")], "And now?"]


async def test_no_more_than_four_breakpoints_are_set(make_model: MakeModel, fault_model: FaultModel) -> None:
    prompts = [Prompt(Role.USER, str(number), ends_prefix=True) for number in range(9)]
    await ask(make_model(cache_hints=CacheHints.BREAKPOINTS), KEYED, *prompts)
    contents = [message["content"] for message in fault_model.bodies[0]["messages"]]
    assert [index for index, content in enumerate(contents) if isinstance(content, list)] == [0, 1, 7, 8]


@pytest.mark.parametrize(
    ("hints", "refused"), [(CacheHints.KEY, "prompt_cache_key"), (CacheHints.BREAKPOINTS, "cache_control")]
)
async def test_an_endpoint_that_refuses_hints_gets_none_from_then_on(
    make_model: MakeModel, fault_model: FaultModel, hints: CacheHints, refused: str
) -> None:
    fault_model.script(fault.status(400, {"message": f"Unknown field: {refused}", "type": "invalid_request_error"}))
    model = make_model(cache_hints=hints)
    await ask(model, KEYED, *MARKED)
    await ask(model, KEYED, *MARKED)
    assert [refused in str(body) for body in fault_model.bodies] == [True, False, False]


async def test_tokens_read_from_a_cache_are_part_of_the_usage(make_model: MakeModel, fault_model: FaultModel) -> None:
    fault_model.script(fault.answers("One.", cached=2), fault.answers("One.", cached=10**6), fault.answers("One."))
    model, usages = make_model(), list[Usage]()
    for _ in range(3):
        end = (await ask(model))[-1]
        assert isinstance(end, Finished)
        assert end.usage is not None
        usages.append(end.usage)
    total = usages[0].input_tokens
    assert [usage.cached_input_tokens for usage in usages] == [2, total, 0]


async def test_the_keys_of_a_tools_schema_come_in_one_order(make_model: MakeModel, fault_model: FaultModel) -> None:
    one = ToolSpec("add", "Adds.", {"type": "object", "properties": {"b": {"type": "number"}, "a": {}}})
    other = ToolSpec("add", "Adds.", {"properties": {"a": {}, "b": {"type": "number"}}, "type": "object"})
    model = make_model()
    for tool in (one, other):
        async for _ in model.stream(SETTINGS, MARKED, thread_files=FILES, tools=[tool]):
            pass
    first, second = (request.body["tools"] for request in fault_model.requests)
    assert str(first) == str(second)


@pytest.mark.parametrize(
    ("base_url", "setting", "hints"),
    [
        (None, "auto", CacheHints.KEY),
        ("https://api.openai.com/v1", "auto", CacheHints.KEY),
        ("https://eu.api.openai.com/v1", "auto", CacheHints.KEY),
        ("https://acme.openai.azure.com/openai/v1", "auto", CacheHints.KEY),
        ("https://openai.com.example.org/v1", "auto", CacheHints.NONE),
        ("https://notopenai.com/v1", "auto", CacheHints.NONE),
        ("http://localhost:8000/v1", "auto", CacheHints.NONE),
        ("http://localhost:8000/v1", "key", CacheHints.KEY),
        ("https://openrouter.ai/api/v1", "breakpoints", CacheHints.BREAKPOINTS),
        ("https://api.openai.com/v1", "none", CacheHints.NONE),
    ],
)
def test_only_openais_own_hosts_get_a_key_without_being_asked(
    base_url: str | None, setting: str, hints: CacheHints
) -> None:
    declared = find_declared_profile(find_host(base_url), "m").cache
    chosen = read_hints(setting)
    assert (declared if chosen is None else chosen) is hints
