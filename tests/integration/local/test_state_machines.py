"""moto's Step Functions carry out the product's state machines with functions of this machine."""

import json
import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl

from baton_local.cloud import LocalCloud
from baton_local.engines.clients import client
from baton_local.errors import TemplateProblem
from baton_local.stack.declarations import StateMachineDefinition
from tests.driven_cloud import DrivenCloud

SECONDS = 40


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds between the attempts at a task, which take no time."""
    waited: list[float] = []
    monkeypatch.setattr(retrier_decl, "time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.fixture(scope="module")
def stepfunctions(cloud: LocalCloud) -> Any:
    return client("stepfunctions", cloud.environment["AWS_ENDPOINT_URL_SFN"])


def session(failures: int = 0) -> dict[str, Any]:
    """The input of the state machine for a session; ``failures`` calls of the function fail."""
    return {
        "tenantId": "acme",
        "userId": f"fails-{failures}",
        "threadId": str(uuid.uuid4()),
        "episode": 1,
        "episodeId": str(uuid.uuid4()),
        "firstOrdinal": 0,
        "endOrdinal": 4,
        "reason": "Timeout",
        "attempt": 1,
    }


def run_execution(
    stepfunctions: Any, cloud: LocalCloud, execution_input: dict[str, Any], machine: str = "BATON_CLOSE_SESSION_ARN"
) -> dict[str, Any]:
    """Close the session, or capture the task, and return how the execution ended."""
    execution = stepfunctions.start_execution(
        stateMachineArn=cloud.environment[machine],
        name=f"{execution_input['threadId']}-{execution_input['attempt']}",
        input=json.dumps(execution_input),
    )["executionArn"]
    deadline = time.monotonic() + SECONDS
    while True:
        results: dict[str, Any] = stepfunctions.describe_execution(executionArn=execution)
        if results["status"] != "RUNNING":
            return results
        assert time.monotonic() < deadline, "The execution does not end."
        time.sleep(0.05)


def read_calls(cloud: LocalCloud, execution_input: dict[str, Any], step: str) -> tuple[int, dict[str, Any]]:
    """The number of calls of the function for this step, and the last input."""
    dynamodb = client("dynamodb", cloud.environment["AWS_ENDPOINT_URL_DYNAMODB"])
    key = {"PK": {"S": execution_input["threadId"]}, "SK": {"S": step}}
    item = dynamodb.get_item(TableName=cloud.environment["BATON_TABLE"], Key=key, ConsistentRead=True).get("Item")
    dynamodb.close()
    return (int(item["calls"]["N"]), json.loads(item["event"]["S"])) if item else (0, {})


def test_a_task_calls_the_function_with_the_executions_input(cloud: LocalCloud, stepfunctions: Any) -> None:
    session_ref = session()
    result = run_execution(stepfunctions, cloud, session_ref)
    assert result["status"] == "SUCCEEDED"
    output = json.loads(result["output"])
    assert {name: output[name] for name in session_ref} == session_ref
    assert output["closed"] == {"calls": 1}
    count, event = read_calls(cloud, session_ref, "whole")
    assert (count, event["step"], event["session"]) == (1, "whole", session_ref)
    assert read_calls(cloud, session_ref, "store") == read_calls(cloud, session_ref, "fail") == (0, {})


def test_the_single_steps_follow_an_invocation_for_all_of_them_that_has_failed(
    cloud: LocalCloud, stepfunctions: Any, pauses: list[float]
) -> None:
    session_ref = session(failures=1)
    output = json.loads(run_execution(stepfunctions, cloud, session_ref)["output"])
    assert (output["stored"], output["completed"]) == ({"calls": 2}, {"calls": 1})
    assert read_calls(cloud, session_ref, "whole")[0] == 1
    assert output["notAtOnce"]["Error"] == "NotStored"


def test_a_task_that_fails_is_tried_again(cloud: LocalCloud, stepfunctions: Any, pauses: list[float]) -> None:
    session_ref = session(failures=1)
    assert run_execution(stepfunctions, cloud, session_ref)["status"] == "SUCCEEDED"
    count, event = read_calls(cloud, session_ref, "store")
    assert (count, event["step"], event["session"]["threadId"]) == (2, "store", session_ref["threadId"])


def test_a_task_that_keeps_failing_is_marked_and_fails_the_execution(
    cloud: LocalCloud, stepfunctions: Any, pauses: list[float]
) -> None:
    session_ref = session(failures=99)
    result = run_execution(stepfunctions, cloud, session_ref)
    assert (result["status"], result["error"]) == ("FAILED", "NotStored")
    assert read_calls(cloud, session_ref, "store")[0] == 4
    count, event = read_calls(cloud, session_ref, "fail")
    assert (count, event["session"].pop("failure")["Error"]) == (1, "NotStored")
    del event["session"]["notAtOnce"]
    assert event["session"] == session_ref


def test_an_execution_is_started_once(cloud: LocalCloud, stepfunctions: Any) -> None:
    session_ref = session()
    run_execution(stepfunctions, cloud, session_ref)
    with pytest.raises(stepfunctions.exceptions.ExecutionAlreadyExists):
        run_execution(stepfunctions, cloud, session_ref)
    assert read_calls(cloud, session_ref, "whole")[0] == 1


def task(user_id: str) -> dict[str, Any]:
    """The input of the state machine for a completed task."""
    return {
        "tenantId": "acme",
        "userId": user_id,
        "threadId": str(uuid.uuid4()),
        "agentId": "assistant",
        "firstOrdinal": 0,
        "endOrdinal": 8,
        "attempt": 1,
    }


STEPS = ("detect", "draft", "compare", "store", "announce")


def capture_task(stepfunctions: Any, cloud: LocalCloud, user_id: str) -> tuple[dict[str, Any], dict[str, int]]:
    """The end of a task's capture, and the number of calls of each step."""
    done = task(user_id)
    result = run_execution(stepfunctions, cloud, done, "BATON_CAPTURE_PROCEDURE_ARN")
    return result, {step: read_calls(cloud, done, step)[0] for step in (*STEPS, "fail")}


def test_a_capture_runs_through_its_steps(cloud: LocalCloud, stepfunctions: Any) -> None:
    result, called = capture_task(stepfunctions, cloud, "ends-nothing-0")
    assert result["status"] == "SUCCEEDED"
    assert called == {**dict.fromkeys(STEPS, 1), "fail": 0}


@pytest.mark.parametrize("step", ["detect", "draft", "compare", "store"])
def test_a_capture_that_is_settled_ends_with_its_step(cloud: LocalCloud, stepfunctions: Any, step: str) -> None:
    result, called = capture_task(stepfunctions, cloud, f"ends-{step}-0")
    assert result["status"] == "SUCCEEDED"
    at = STEPS.index(step) + 1
    assert [called[step] for step in STEPS] == [1] * at + [0] * (len(STEPS) - at)


@pytest.mark.parametrize("step", ["detect", "announce"])
def test_a_step_of_a_capture_that_fails_is_tried_again(
    cloud: LocalCloud, stepfunctions: Any, pauses: list[float], step: str
) -> None:
    result, called = capture_task(stepfunctions, cloud, f"fails-{step}-1")
    assert result["status"] == "SUCCEEDED"
    assert called == {**dict.fromkeys(STEPS, 1), step: 2, "fail": 0}


def test_a_capture_whose_step_keeps_failing_is_marked(
    cloud: LocalCloud, stepfunctions: Any, pauses: list[float]
) -> None:
    result, called = capture_task(stepfunctions, cloud, "fails-store-99")
    assert (result["status"], result["error"]) == ("FAILED", "NotCarriedOut")
    assert (called["store"], called["announce"], called["fail"]) == (4, 0, 1)


def test_functions_start_executions_by_the_templates_reference(cloud: DrivenCloud) -> None:
    session_ref = session()
    dynamodb = client("dynamodb", cloud.environment["AWS_ENDPOINT_URL_DYNAMODB"])
    item = {"PK": {"S": "sweep"}, "SK": {"S": "next"}, "input": {"S": json.dumps(session_ref)}}
    dynamodb.put_item(TableName=cloud.environment["BATON_TABLE"], Item=item)
    dynamodb.close()
    cloud.sweep_now()
    deadline = time.monotonic() + SECONDS
    while read_calls(cloud, session_ref, "whole") != (1, {"step": "whole", "session": session_ref}):
        assert time.monotonic() < deadline, "The session is not closed."
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "No such file"),
        ("{", "Cannot read the state machine"),
        ('{"Resource": "${Forgotten}"}', "DefinitionSubstitutions lack"),
    ],
)
def test_a_definition_that_cannot_be_used_is_named(tmp_path: Path, text: str | None, complaint: str) -> None:
    file = tmp_path / "broken.asl.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(TemplateProblem, match=rf"broken\.asl\.json.*{complaint}|{complaint}.*broken\.asl\.json"):
        StateMachineDefinition("Broken", "arn", file, {"Known": "value"}).read_definition()
