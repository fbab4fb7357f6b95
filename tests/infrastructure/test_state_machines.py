"""The state machines: what they say is sound, and the template runs them as the design wants it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from baton.domain.documents.document import STEP_WAIT, IngestionStep
from baton.domain.memory.capture import CaptureStep
from baton.memory.episodes.session_closing import ClosingStep
from tests.infrastructure.stack import ROOT, Stack, find_references

DEFINITIONS = sorted((ROOT / "statemachines").glob("*.asl.json"))
PIPELINES = {
    "CaptureProcedure": "LearningFunction",
    "CloseSession": "ClosingFunction",
    "ForgetUser": "ForgettingFunction",
    "IngestDocument": "IngestionFunction",
}
TERMINAL = {"Succeed", "Fail"}
TARGETS = {"Next", "Default", "StartAt"}


def machine(path: Path) -> dict[str, Any]:
    definition: dict[str, Any] = json.loads(path.read_text())
    return definition


def goes_to(value: Any) -> Iterator[str]:
    """The states that a state names as its next ones."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in TARGETS and isinstance(item, str):
                yield item
            elif key == "ItemProcessor":
                continue  # its states go to each other only
            else:
                yield from goes_to(item)
    elif isinstance(value, list):
        for item in value:
            yield from goes_to(item)


def tasks(definition: dict[str, Any]) -> list[dict[str, Any]]:
    """The tasks outside and inside of maps. What is not caught inside of a map is caught by the map."""
    results = []
    for state in definition["States"].values():
        if state["Type"] == "Task":
            results.append(state)
        elif state["Type"] == "Map":
            results += [{"Catch": state["Catch"], **task} for task in tasks(state["ItemProcessor"])]
    return results


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)
class TestDefinitions:
    def test_every_state_that_is_named_exists(self, path: Path) -> None:
        definition = machine(path)
        assert set(goes_to(definition)) <= set(definition["States"])

    def test_every_state_is_reached(self, path: Path) -> None:
        definition = machine(path)
        reached: set[str] = set()
        ahead = [definition["StartAt"]]
        while ahead:
            name = ahead.pop()
            if name not in reached:
                reached.add(name)
                ahead += goes_to(definition["States"][name])
        assert reached == set(definition["States"])

    def test_every_state_leads_on_or_ends(self, path: Path) -> None:
        for name, state in machine(path)["States"].items():
            ends = state["Type"] in TERMINAL or state.get("End") is True
            assert ends != ("Next" in state or state["Type"] == "Choice"), name

    def test_it_speaks_jsonpath(self, path: Path) -> None:
        assert machine(path)["QueryLanguage"] == "JSONPath"

    def test_every_task_is_bounded_tried_again_and_caught(self, path: Path) -> None:
        """An execution may last a year, and a task without a separate limit waits as long."""
        for task in tasks(machine(path)):
            assert task["TimeoutSeconds"] > 0
            assert all(0 < retry["MaxAttempts"] <= 10 and retry["BackoffRate"] > 1 for retry in task["Retry"])
            assert task["Catch"][-1]["ErrorEquals"] == ["States.ALL"]

    def test_the_template_gives_every_placeholder_a_value(self, path: Path, stack: Stack) -> None:
        (properties,) = [
            item
            for item in stack.of_type("AWS::StepFunctions::StateMachine").values()
            if item["DefinitionS3Location"]["Key"].endswith(path.name)
        ]
        assert set(re.findall(r"\$\{(\w+)\}", path.read_text())) == set(properties["DefinitionSubstitutions"])


@pytest.mark.parametrize(("name", "function"), PIPELINES.items())
def test_a_pipeline_is_a_standard_logged_execution(stack: Stack, name: str, function: str) -> None:
    pipeline = stack[name]
    assert pipeline["StateMachineType"] == "STANDARD"
    assert "TracingConfiguration" not in pipeline
    logging = pipeline["LoggingConfiguration"]
    assert (logging["Level"], logging["IncludeExecutionData"]) == ("ALL", False)
    assert set(find_references(logging["Destinations"])) == {f"{name}Logs"}
    assert set(find_references(pipeline["DefinitionSubstitutions"])) == {function}


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("capture_procedure", "LearningFunction"),
        ("close_session", "ClosingFunction"),
        ("forget_user", "ForgettingFunction"),
        ("ingest_document", "IngestionFunction"),
    ],
)
def test_the_steps_of_a_pipeline_outlast_their_function(stack: Stack, file: str, function: str) -> None:
    for task in tasks(machine(ROOT / f"statemachines/{file}.asl.json")):
        assert task["TimeoutSeconds"] > stack[function]["Timeout"]


def test_every_step_gets_everything_the_execution_was_given() -> None:
    """The samples in events/ are what the function gets; test_events has more of them."""
    definition = machine(ROOT / "statemachines/close_session.asl.json")
    sample = json.loads((ROOT / "events/states_closing_failed.json").read_text())
    for task in tasks(definition):
        assert set(task["Parameters"]) == {"step", "session.$"}
        assert task["Parameters"]["session.$"] == "$"
    assert definition["States"]["MarkFailed"]["Parameters"]["step"] == sample["step"]


def test_the_steps_run_in_the_order_of_their_declaration() -> None:
    states = machine(ROOT / "statemachines/close_session.asl.json")["States"]
    name, steps = "StoreEpisode", []
    while name:
        steps.append(states[name]["Parameters"]["step"])
        name = states[name].get("Next")
    # What was learned is made up for when the session is complete but for its last word.
    assert [step for step in steps if step != "learn"] == [step.value for step in ClosingStep]
    assert steps[-2:] == ["learn", "complete"]


def test_the_steps_of_a_capture_run_in_the_order_of_their_declaration() -> None:
    states = machine(ROOT / "statemachines/capture_procedure.asl.json")["States"]
    name, steps = "DetectTask", []
    while states[name]["Type"] == "Task":
        steps.append(states[name]["Parameters"]["step"])
        choice = states[states[name]["Next"]]
        if choice["Type"] != "Choice":
            break
        assert choice["Default"] == "Done", "a capture that is settled ends"
        [goes_on] = choice["Choices"]
        assert (goes_on["Variable"], goes_on["BooleanEquals"]) == ("$.result.goesOn", True)
        name = goes_on["Next"]
    assert steps == [step.value for step in CaptureStep]


def test_a_capture_passes_references_on_and_no_content() -> None:
    definition = machine(ROOT / "statemachines/capture_procedure.asl.json")
    sample = json.loads((ROOT / "events/states_learning_failed.json").read_text())
    for task in tasks(definition):
        assert set(task["Parameters"]) == {"step", "task.$"}
        assert task["ResultPath"] in ("$.result", None)
    assert definition["States"]["MarkFailed"]["Parameters"]["step"] == sample["step"]


def test_a_session_is_closed_by_one_transition_and_step_by_step_where_that_fails() -> None:
    definition = machine(ROOT / "statemachines/close_session.asl.json")
    first = definition["States"][definition["StartAt"]]
    assert (first["Parameters"]["step"], first["End"]) == ("whole", True)
    assert [caught["Next"] for caught in first["Catch"]] == ["StoreEpisode"]
    # Only what Lambda has not begun is begun again as a whole.
    assert all(error.startswith("Lambda.") for retry in first["Retry"] for error in retry["ErrorEquals"])


@pytest.mark.parametrize("name", ["Summarize", "CompareFacts", "IndexEpisode", "LearnFromSession"])
def test_a_step_that_needs_a_model_or_the_search_engine_does_not_stop_the_others(name: str) -> None:
    state = machine(ROOT / "statemachines/close_session.asl.json")["States"][name]
    assert [caught["Next"] for caught in state["Catch"]] == [state["Next"]]


def test_a_documents_steps_run_in_the_order_of_their_declaration() -> None:
    states = machine(ROOT / "statemachines/ingest_document.asl.json")["States"]
    steps = [
        (state.get("ItemSelector") or state["Parameters"])["step"]
        for state in states.values()
        if state["Type"] in ("Task", "Map") and state is not states["MarkFailed"]
    ]
    assert steps == [step.value for step in IngestionStep]


def test_few_batches_are_embedded_at_once_and_a_busy_embedder_is_asked_again_for_half_an_hour() -> None:
    batches = machine(ROOT / "statemachines/ingest_document.asl.json")["States"]["IndexBatches"]
    assert batches["MaxConcurrency"] == 2
    (task,) = tasks(batches["ItemProcessor"])
    (busy,) = [retry for retry in task["Retry"] if "EmbedderUnavailable" in retry["ErrorEquals"]]
    waits = [min(busy["IntervalSeconds"] * 2**number, busy["MaxDelaySeconds"]) for number in range(busy["MaxAttempts"])]
    assert 1_500 <= sum(waits) < STEP_WAIT.total_seconds()


def test_no_step_of_a_document_is_given_content() -> None:
    """A state has at most 256 KB: steps get references, and numbers of parts and batches."""
    states = machine(ROOT / "statemachines/ingest_document.asl.json")["States"]
    for state in states.values():
        if state["Type"] == "Map":
            assert state["ResultPath"] is None
        if state["Type"] == "Task":
            assert state["Parameters"]["document.$"] == "$$.Execution.Input"
