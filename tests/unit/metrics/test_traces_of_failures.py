"""Each failure of each function leaves a line that the runbook explains, with its code or its stack trace."""

from __future__ import annotations

import ast
import copy
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import pytest
from botocore.exceptions import ClientError

from baton.composition import metrics
from baton.domain.errors import BatonError, ModelUnavailable, StoreUnavailable, ThreadBusy
from baton.failures.reports import ExpectedFailure
from tests.unit.docs.pages import ROOT, table
from tests.unit.metrics.written import Context, counts, function

LINES = {line.strip("` ") for row in table(ROOT / "docs" / "how-to" / "runbook.md", "line") for line in row.split(", ")}
EVENTS = {
    "authorizer/app.py": {"authorizer_request": ["verifier"]},
    "closing/app.py": {"states_closing": ["closing"], "states_closing_failed": ["closing"]},
    "forgetting/app.py": {"states_forgetting": ["privacy"], "states_forgetting_failed": ["privacy"]},
    "ingestion/app.py": {
        "object_created": ["ingestion"],
        "states_ingestion": ["ingestion"],
        "schedule_sweeper": ["sources"],
    },
    "learning/app.py": {"states_learning": ["learning"], "states_learning_failed": ["learning"]},
    "notifications/app.py": {"sqs_notifications": ["notifications"]},
    "search/app.py": {"search_command": ["search_commands"]},
    "sockets/app.py": {
        "websocket_connect": ["actions"],
        "websocket_default": ["actions"],
        "websocket_disconnect": ["actions"],
    },
    "sweeper/app.py": {"schedule_sweeper": ["sweeper", "retention", "ingestions", "admission"]},
    "turns/app.py": {"sqs_turns": ["turns"]},
    "turns/dead.py": {"sqs_dead_turns": ["dead_turns"]},
}
"""The functions, the samples of their events, and the names in the module of what handles each."""
WEB = {"http/app.py", "streams/app.py"}
"""Functions that answer requests. Their failures are tried by requests below."""
EXPECTED = [
    StoreUnavailable(),
    ThreadBusy(),
    ModelUnavailable(),
    ExpectedFailure("later"),
    ExceptionGroup("", [StoreUnavailable()]),
]
UNEXPECTED = [
    RuntimeError("a bug"),
    KeyError("subject"),
    TimeoutError(),
    ClientError({"Error": {"Code": "AccessDeniedException"}}, "PutItem"),
    ExceptionGroup("", [StoreUnavailable(), RuntimeError("a bug")]),
]
CASES = [(path, event) for path, events in EVENTS.items() for event in events]


class Broken:
    """Anything whose every method raises."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def fail(*args: Any, **kwargs: Any) -> Any:
            raise self._failure

        return fail


@pytest.fixture(autouse=True)
def stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_read_stack_name", lambda: "baton-test")
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)
    monkeypatch.setenv("BATON_STAGE", "prod")


def sample(name: str) -> dict[str, Any]:
    if name == "search_command":
        return {"command": "verify"}
    results: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text())
    return results


def traces(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.WARNING and record.getMessage() in LINES]


def invoke(module: ModuleType, event: dict[str, Any]) -> Any:
    with suppress(Exception):  # Lambda passes it on
        return module.handler(event, Context())


def fails(module: ModuleType, event: dict[str, Any]) -> bool:
    """Return whether the function fails on the event or one of its records. A refused connection is no failure."""
    try:
        answer = module.handler(event, Context())
    except Exception as failure:  # noqa: BLE001 - Lambda passes it on
        return str(failure) != "Unauthorized"
    return bool((answer or {}).get("batchItemFailures"))


def break_function(monkeypatch: pytest.MonkeyPatch, path: str, event: str, failure: Exception) -> ModuleType:
    module = function(monkeypatch, path, {})
    for name in EVENTS[path][event]:
        monkeypatch.setattr(module, name, Broken(failure))
    return module


def test_every_function_is_tried() -> None:
    results = {path.relative_to(ROOT / "functions").as_posix() for path in (ROOT / "functions").glob("*/*.py")}
    assert results == EVENTS.keys() | WEB


@pytest.mark.parametrize("failure", EXPECTED, ids=repr)
@pytest.mark.parametrize(("path", "event"), CASES)
def test_an_expected_failure_is_a_warning_with_its_code(
    path: str,
    event: str,
    failure: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    invoke(break_function(monkeypatch, path, event, failure), sample(event))
    result = traces(caplog)
    assert {item.levelname for item in result} == {"WARNING"}
    if isinstance(failure, BatonError):
        assert failure.code in {vars(item).get("code") for item in result}
    assert "InternalFaults" not in counts(capsys.readouterr().out)


@pytest.mark.parametrize("failure", UNEXPECTED, ids=repr)
@pytest.mark.parametrize(("path", "event"), CASES)
def test_every_other_failure_is_an_error_with_its_stack_trace_and_is_counted(
    path: str,
    event: str,
    failure: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    invoke(break_function(monkeypatch, path, event, failure), sample(event))
    errors = [trace for trace in traces(caplog) if trace.levelname == "ERROR"]
    assert failure in [error.exc_info[1] for error in errors if error.exc_info]
    assert counts(capsys.readouterr().out)["InternalFaults"] == len(errors)


def damage(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The event without each of its members, with an empty record, and with a record's body that is none."""
    for name in event:
        yield {item: value for item, value in event.items() if item != name}
    for record in event.get("Records", ()):
        yield {"Records": [{"messageId": record["messageId"]}]}
        yield {"Records": [{**record, "body": "nonsense"}]}
        yield {"Records": [{**record, "body": "{}"}]}


@pytest.mark.parametrize(("path", "event"), CASES)
def test_an_event_that_is_none_of_the_functions_leaves_a_line(
    path: str, event: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An event that can still be handled, because what is missing is not needed, leaves none."""
    module = function(monkeypatch, path, {})
    for wrong in damage(copy.deepcopy(sample(event))):
        caplog.clear()
        assert not fails(module, wrong) or traces(caplog), wrong.keys()


@pytest.mark.parametrize(
    ("failure", "level"), [(StoreUnavailable(), "WARNING"), (RuntimeError("a bug"), "ERROR"), (KeyError("id"), "ERROR")]
)
def test_a_request_that_fails_leaves_a_line(
    failure: Exception, level: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = function(monkeypatch, "http/app.py", {"ports.verifier": Broken(failure)})
    answer = module.handler(sample("rest_http"), Context())
    assert answer["statusCode"] >= 500
    [line] = traces(caplog)
    assert (line.levelname, line.getMessage()) == (level, "request failed")
    assert vars(line)["request_id"] == json.loads(answer["body"])["requestId"]


def test_a_request_that_is_none_leaves_a_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    invoke(function(monkeypatch, "http/app.py", {}), {})
    assert [trace.getMessage() for trace in traces(caplog)] == ["invocation failed"]


def list_reported() -> Iterator[str]:
    """The lines of all reports in the product."""
    for path in sorted([*(ROOT / "shared/baton").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "report_failure":
                line = node.args[1]
                assert isinstance(line, ast.Constant), path
                yield str(line.value)


def test_the_runbook_explains_every_line() -> None:
    assert {*list_reported(), "queued work given up"} == LINES
