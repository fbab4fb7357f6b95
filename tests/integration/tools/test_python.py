"""Functions of the deployment as tools."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from baton.domain.tenants.identity import Scope
from baton.ports.agents.tools import ToolFailed
from tests.integration.tools.harness import ADA, Harness, agent_with, context

FUNCTIONS = "tests.integration.tools.functions"


def python(function: str, **more: object) -> dict[str, object]:
    return {
        "type": "python",
        "name": function,
        "description": "Does it.",
        "entry_point": f"{FUNCTIONS}:{function}",
        **more,
    }


async def test_parameters_come_from_the_signature(harness: Harness) -> None:
    agent = agent_with(python("days_until"), python("greet"), python("whoami"), python("counts"))

    tools = {tool.spec.name: tool for tool in (await harness.toolbox.offered(agent, ADA)).tools}

    schema = tools["days_until"].spec.parameters
    Draft202012Validator.check_schema(dict(schema))
    assert (set(schema["properties"]), schema["required"]) == ({"day", "place", "times"}, ["day", "place"])
    assert schema["additionalProperties"] is False
    assert tools["greet"].spec.parameters["properties"]["style"]["enum"] == ["short", "long"]
    assert tools["whoami"].spec.parameters["properties"] == {}
    assert set(tools["counts"].spec.parameters["properties"]) == {"model_name", "schema"}
    assert tools["greet"].origin == "python"


async def test_a_name_and_a_description_come_from_the_function(harness: Harness) -> None:
    agent = agent_with({"type": "python", "entry_point": f"{FUNCTIONS}:documented"})

    [tool] = (await harness.toolbox.offered(agent, ADA)).tools

    assert (tool.spec.name, tool.spec.description) == ("documented", "Look up an order.")
    assert tool.spec.parameters["properties"]["number"]["description"] == "as printed on the invoice."
    assert (await harness.call(agent, "documented", number=7)).text == "7"


async def test_a_function_without_a_docstring_needs_a_description(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    agent = agent_with({"type": "python", "entry_point": f"{FUNCTIONS}:greet"})
    assert (await harness.toolbox.offered(agent, ADA)).tools == ()
    assert "greet: give it a docstring, or the tool a description." in caplog.text


async def test_what_a_functions_decorator_asks_for_cannot_be_left_out_in_yaml(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    clerk = Scope("acme", "bob", frozenset({"crm:write"}))
    guarded = {"type": "python", "entry_point": f"{FUNCTIONS}:guarded"}
    [tool] = (
        await harness.toolbox.offered(agent_with({**guarded, "required_permissions": ["crm:write"]}), clerk)
    ).tools
    assert tool.requires_approval
    assert (await harness.toolbox.offered(agent_with(guarded), clerk)).tools == ()
    assert "guarded requires crm:write: name it here too." in caplog.text


async def test_functions_are_called_with_converted_arguments(harness: Harness) -> None:
    agent = agent_with(python("days_until"), python("greet"), python("counts"))

    answer = json.loads((await harness.call(agent, "days_until", day="2026-03-02", place={"name": "Rome"})).text)

    assert (answer["weekday"], answer["place"], answer["times"]) == ("Monday", "Rome", 1)
    assert (await harness.call(agent, "greet", name="Ada")).text == "Hi Ada"
    assert (await harness.call(agent, "greet", name="Ada", style="long")).text == "Hello, Ada!"
    assert (await harness.call(agent, "counts", model_name="m")).text == "m1"


async def test_a_function_may_know_on_whose_behalf_it_is_called(harness: Harness) -> None:
    assert (await harness.call(agent_with(python("whoami")), "whoami")).text == "ada key-1"


async def test_the_context_cannot_be_given_by_the_model(harness: Harness) -> None:
    with pytest.raises(ToolFailed, match="do not fit"):
        await harness.call(agent_with(python("whoami")), "whoami", context={"scope": "root"})


async def test_arguments_that_do_not_fit_are_reported(harness: Harness) -> None:
    with pytest.raises(ToolFailed, match=r"name: Field required.*nmae"):
        await harness.call(agent_with(python("greet")), "greet", nmae="Ada")


async def test_a_function_may_have_parameters_of_its_own_declaration(harness: Harness) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    agent = agent_with(python("raw", parameters=schema))
    [tool] = (await harness.toolbox.offered(agent, ADA)).tools
    assert tool.spec.parameters == schema
    assert json.loads((await harness.call(agent, "raw", x=1)).text) == {"x": 1}


async def test_results_may_have_sources(harness: Harness) -> None:
    answer = await harness.call(agent_with(python("sourced")), "sourced")
    assert (answer.text, dict(answer.sources[0])) == ("found", {"kind": "page", "id": "1", "title": "One"})


async def test_a_functions_own_refusal_reaches_the_model(harness: Harness) -> None:
    with pytest.raises(ToolFailed, match=r"Ask somebody else\."):
        await harness.call(agent_with(python("refuses")), "refuses")


async def test_an_unexpected_error_reaches_neither_model_nor_log(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ToolFailed) as failure:
        await harness.call(agent_with(python("leaks")), "leaks")
    assert "hunter2" not in failure.value.message + caplog.text
    assert "RuntimeError at functions.py" in caplog.text


async def test_a_slow_function_ends_at_its_time_limit(harness: Harness) -> None:
    with pytest.raises(ToolFailed, match=r"within 0\.1 seconds"):
        await harness.call(agent_with(python("sleeps", timeout_seconds=0.1)), "sleeps")


async def test_a_functions_own_timeout_is_not_that_of_the_call(harness: Harness) -> None:
    with pytest.raises(ToolFailed) as failure:
        await harness.call(agent_with(python("times_out")), "times_out")
    assert failure.value.is_fault
    assert "seconds" not in failure.value.message


async def test_an_answer_that_cannot_be_shown_is_a_failure(harness: Harness) -> None:
    with pytest.raises(ToolFailed, match="cannot be written as JSON"):
        await harness.call(agent_with(python("unshowable")), "unshowable")


@pytest.mark.parametrize(
    "entry_point",
    [
        "os:system",
        "tests.integration.toolsmith:go",
        "tests.integration.tools.functions:nothing",
        "tests.integration.tools.absent:go",
        f"{FUNCTIONS}:untyped",
        f"{FUNCTIONS}:raw",
    ],
)
async def test_what_may_not_or_cannot_be_loaded_is_missing(
    harness: Harness, entry_point: str, caplog: pytest.LogCaptureFixture
) -> None:
    agent = agent_with(python("greet"), python("other", entry_point=entry_point))

    offered = await harness.toolbox.offered(agent, ADA)

    assert [tool.spec.name for tool in offered.tools] == ["greet"]
    assert [(missing.origin, "cannot be loaded" in missing.reason) for missing in offered.missing] == [("python", True)]
    assert caplog.text.count("tool other: other cannot be used: ") == 1
    assert (await harness.toolbox.offered(agent, ADA)).missing == offered.missing
    assert caplog.text.count("cannot be used") == 1


async def test_a_tool_needs_its_permissions_when_offered_and_when_called(harness: Harness) -> None:
    agent = agent_with(python("greet", required_permissions=["crm:read"]), python("whoami"))
    clerk = Scope("acme", "bob", frozenset({"crm:read"}))

    assert [tool.spec.name for tool in (await harness.toolbox.offered(agent, ADA)).tools] == ["whoami"]
    assert len((await harness.toolbox.offered(agent, clerk)).tools) == 2
    with pytest.raises(ToolFailed, match="no tool"):
        await harness.call(agent, "greet", name="x")
    assert (await harness.call(agent, "greet", clerk, name="x")).text == "Hi x"


async def test_a_function_in_the_background_is_carried_out_when_its_state_is_read(harness: Harness) -> None:
    agent = agent_with(python("prints"))
    [offered] = (await harness.toolbox.offered(agent, ADA)).tools
    assert offered.background is not None
    assert offered.background.expires_hours == 2
    later = replace(context(agent), may_answer_later=True)
    put_off = await harness.toolbox.call(agent, "prints", {"pages": 42}, later)
    assert (put_off.is_pending, put_off.is_put_off) == (True, True)
    assert put_off.location is not None
    done = await harness.toolbox.read_task(agent, "prints", put_off.location, context(agent))
    assert (done.is_pending, done.text) == (False, "42 pages for key-1")
    with pytest.raises(ToolFailed, match="do not fit"):
        await harness.toolbox.call(agent, "prints", {"pages": "many"}, later)
    assert (await harness.toolbox.call(agent, "prints", {"pages": 1}, context(agent))).text == "1 pages for key-1"
