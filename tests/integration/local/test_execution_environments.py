"""Execution environments with AWS's runtime interface client: their start, end and freeze, their layers and log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from baton_local.lambda_runtime import host
from baton_local.lambda_runtime.build import BuiltFunctions
from baton_local.lambda_runtime.functions import BuiltFunction
from baton_local.lambda_runtime.invocations import FunctionFailed
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import FunctionDefinition

PATIENCE_SECONDS = 60.0

Make = Callable[..., BuiltFunction]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Make a function of Python source, with layers that have one file each."""
    try:
        functions = BuiltFunctions(tmp_path, default_cache_dir(), print)
    except host.HostProblem as problem:
        pytest.skip(str(problem))
    built_functions: list[BuiltFunction] = []

    def function(
        source: str, *, timeout: float = PATIENCE_SECONDS, log_level: str = "INFO", **layers: str
    ) -> BuiltFunction:
        folder = tmp_path / "Function"
        folder.mkdir()
        (folder / "app.py").write_text(source)
        for layer, content in layers.items():
            (tmp_path / layer / "python").mkdir(parents=True)
            (tmp_path / layer / "python" / "layered.py").write_text(content)
        definition = FunctionDefinition(
            name="Function",
            folder=folder,
            handler="app.handler",
            timeout=timeout,
            memory=128,
            variables={},
            layers=tuple(layers),
            log_level=log_level,
        )
        built_functions.append(functions.make(definition, {}))
        return built_functions[-1]

    yield function
    for built_function in built_functions:
        built_function.end()


def ask(function: BuiltFunction, event: Any = None) -> Any:
    return function.invoke(event).result(PATIENCE_SECONDS)


def failure(function: BuiltFunction, event: Any = None) -> FunctionFailed:
    with pytest.raises(FunctionFailed) as failed:
        ask(function, event)
    return failed.value


def test_an_environment_is_used_again_and_frozen_in_between(make: Make) -> None:
    function = make("import os\ndef handler(event, context):\n    return [os.getpid(), event]\n")
    pid, first = ask(function, "one")
    assert first == "one"
    wait_until_frozen(pid)
    assert ask(function, "two") == [pid, "two"]


def wait_until_frozen(pid: int) -> None:
    gives_up_at = time.monotonic() + PATIENCE_SECONDS
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < gives_up_at, "It runs between two events."
        time.sleep(0.01)


def test_files_of_a_later_layer_hide_those_of_an_earlier_one(make: Make) -> None:
    source = "import layered\ndef handler(event, context):\n    return [layered.__file__, layered.NAME]\n"
    function = make(source, FirstLayer="NAME = 'first'", SecondLayer="NAME = 'second'")
    assert ask(function) == ["/opt/python/layered.py", "second"]


def test_code_and_layers_cannot_be_written(make: Make) -> None:
    source = "def handler(event, context):\n    open('/opt/python/new', 'w')\n"
    assert failure(make(source, OnlyLayer="")).error_type == "OSError"


def test_a_function_is_ended_at_its_timeout_and_the_next_event_gets_another_environment(make: Make) -> None:
    source = "import os, time\ndef handler(event, context):\n    time.sleep(event)\n    return os.getpid()\n"
    function = make(source, timeout=1.0)
    problem = failure(function, 1000)
    assert problem.error_type == "Sandbox.Timedout"
    assert "Task timed out after 1.00 seconds" in str(problem)
    assert ask(function, 0)


def test_a_runtime_that_exits_fails_the_event(make: Make) -> None:
    function = make("import os\ndef handler(event, context):\n    os._exit(3)\n")
    assert failure(function).error_type == "Runtime.ExitError"


def test_a_function_that_does_not_import_fails_with_the_reason(make: Make) -> None:
    problem = failure(make("import missing_module\n"))
    assert problem.error_type == "Runtime.ImportModuleError"
    assert "missing_module" in str(problem)


def test_lines_below_the_functions_level_are_not_in_its_log(make: Make) -> None:
    source = (
        "import json, logging\n"
        "def handler(event, context):\n"
        "    print(json.dumps({'level': 'INFO', 'message': 'dropped'}))\n"
        "    print('without a level, dropped')\n"
        "    time = '2026-01-02T03:04:05Z'\n"
        "    print(json.dumps({'level': 'ERROR', 'timestamp': time, 'message': 'printed'}), flush=True)\n"
        "    logging.getLogger().info('dropped')\n"
        "    logging.getLogger().warning('logged')\n"
    )
    function = make(source, log_level="WARN")
    ask(function)
    function.end()
    log = "\n".join(function.log)
    assert "printed" in log
    assert "logged" in log
    assert "dropped" not in log
