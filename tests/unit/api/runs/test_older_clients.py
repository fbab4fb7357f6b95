"""Events for clients of AG-UI's 0.0.5x line, checked with the schemas of that line."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import ag_ui.core
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import baton
from baton.api.runs.front_ends import downgrade, keep, select_conversion, upgrade
from baton.domain.threads.content import content_as_json, parse_content
from baton.domain.threads.events import Event
from tests.e2e.agui_clients import OLDER, AgUiClient, clients_folder, running_clients
from tests.unit.api.baton_events import KINDS, events, questions
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served
from tests.unit.domain.strategies import json_values

__all__ = ["clients_folder", "running_clients"]


@pytest.mark.parametrize("version", OLDER)
@given(emitted=st.lists(events, min_size=1, max_size=25))
async def test_an_older_client_takes_whatever_baton_can_emit(
    running_clients: dict[str, AgUiClient], version: str, emitted: list[Event]
) -> None:
    reported = [downgrade(event).body for event in emitted]
    assert await running_clients[version].complaints(reported) == []


def test_every_event_that_baton_emits_is_among_those() -> None:
    """A new event must be tried with older clients, too."""
    source = "".join(path.read_text() for path in Path(baton.__file__).parent.rglob("*.py"))
    instance = set(re.findall(r"\b(\w+Event)(?:\.model_validate)?\(", source)) & set(vars(ag_ui.core))
    types = {str(getattr(ag_ui.core, name).model_fields["type"].default) for name in instance}
    tried: set[str] = set()

    @settings(max_examples=20, database=None, derandomize=True)
    @given(st.tuples(*KINDS))
    def look(one_of_each: tuple[ag_ui.core.BaseEvent, ...]) -> None:
        tried.update(str(event.type) for event in one_of_each)

    look()
    assert types == tried


FILE = {"type": "file", "value": "file_" + "0" * 32, "provider": "baton"}
ADDRESS = {"type": "url", "value": "baton:file_" + "0" * 32}
NOTHING: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}


def with_file(source: dict[str, Any]) -> list[dict[str, Any]]:
    """Messages with an uploaded file."""
    return [{"id": "m-1", "role": "user", "content": [{"type": "document", "source": source}]}]


def interrupt(reason: str) -> dict[str, Any]:
    """The outcome of a run that waits."""
    return {"type": "interrupt", "interrupts": [{"id": "i-1", "reason": reason, "toolCallId": "c-1"}]}


RUN = {"threadId": "t-1", "runId": "r-1", "metadata": {"seq": 7}}
TASK = {"subagentRunId": "task-1", "code": "failed", "message": "No."}
WORDS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"type": "RUN_STARTED", **RUN, "input": {"messages": with_file(FILE)}},
        {"type": "RUN_STARTED", **RUN, "input": {**NOTHING, "messages": with_file(ADDRESS)}},
    ),
    (
        {"type": "MESSAGES_SNAPSHOT", "messages": with_file(FILE)},
        {"type": "MESSAGES_SNAPSHOT", "messages": with_file(ADDRESS)},
    ),
    (
        {"type": "RUN_FINISHED", **RUN, "outcome": {"type": "cancelled"}},
        {"type": "RUN_FINISHED", **RUN, "result": {"outcome": "cancelled"}},
    ),
    (
        {"type": "RUN_FINISHED", **RUN, "outcome": {"type": "delivered"}},
        {"type": "RUN_FINISHED", **RUN, "outcome": {"type": "success"}},
    ),
    (
        {"type": "RUN_FINISHED", **RUN, "outcome": interrupt("tool_approval")},
        {"type": "RUN_FINISHED", **RUN, "outcome": interrupt("tool_call")},
    ),
    (
        {"type": "SUBAGENT_ERROR", **TASK, "metadata": {"seq": 7}},
        {"type": "CUSTOM", "name": "subagent_error", "value": TASK, "metadata": {"seq": 7}},
    ),
    ({"type": "STEP_STARTED", "stepName": "WOOD"}, {"type": "STEP_STARTED", "stepName": "WOOD"}),
]


@pytest.mark.parametrize(("body", "expected"), WORDS, ids=[body["type"] for body, _ in WORDS])
async def test_an_older_client_gets_new_states_in_its_own_words(
    running_clients: dict[str, AgUiClient], body: dict[str, Any], expected: dict[str, Any]
) -> None:
    if body["type"] == "RUN_STARTED":  # as it was logged by a release that left out what was empty
        body, expected = (
            {**item, "input": {"threadId": "t-1", "runId": "r-1", **item["input"]}} for item in (body, expected)
        )
    assert downgrade(Event(body)).body == expected
    for version in OLDER:
        assert await running_clients[version].complaints([expected]) == []


@given(events)
def test_every_event_becomes_one_of_the_same_number_and_about_the_same(event: Event) -> None:
    reported = downgrade(event)
    assert reported.seq == event.seq
    assert reported.body.get("metadata") == event.body.get("metadata")
    assert downgrade(reported) == reported
    assert json.loads(reported.json()) == reported.body


@given(events)
def test_to_translate_an_event_changes_nothing_of_it(event: Event) -> None:
    before = json.dumps(event.body)
    downgrade(event)
    assert json.dumps(event.body) == before


@pytest.mark.parametrize("version", ["1.0", "1.7", "2.0", "10.0", "1", "next", ""])
def test_a_client_that_sends_a_version_from_1_0_on_or_an_unknown_one_gets_it_unchanged(version: str) -> None:
    assert select_conversion(version) is keep


@pytest.mark.parametrize("version", [None, "0.9", "0.0"])
def test_a_client_that_sends_none_gets_it_in_older_words(version: str | None) -> None:
    assert select_conversion(version) is downgrade


@given(questions)
def test_a_message_that_comes_back_from_an_older_client_is_the_same_message(question: Any) -> None:
    visible = downgrade(Event({"type": "MESSAGES_SNAPSHOT", "messages": [_json(question)]})).body["messages"][0]
    content = upgrade(visible)["content"]
    assert parse_content(content) == question.content


def _json(question: Any) -> dict[str, Any]:
    return {"id": question.id, "role": "user", "content": content_as_json(question.content)}


@given(st.dictionaries(st.sampled_from(["role", "content"]), json_values | st.lists(json_values)))
def test_to_upgrade_a_message_never_fails(message: dict[str, Any]) -> None:
    upgrade(message)


@pytest.mark.parametrize("version", OLDER)
async def test_the_short_form_of_a_run_is_understood(running_clients: dict[str, AgUiClient], version: str) -> None:
    served = Served()
    body = run_input(served)
    first = await served.post("/runs", body)
    assert "RUN_FINISHED" in first.text
    served.harness.clock.advance(timedelta(days=2).total_seconds())
    repeated = await served.post("/runs", body)
    received = await running_clients[version].parse_stream(repeated.text)
    assert received.errors == []
    assert received.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert [message["content"] for message in received.messages] == ["Hello", "Hello there."]
