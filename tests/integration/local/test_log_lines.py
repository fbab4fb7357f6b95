"""Functions share a process and a logger here; each log line still says which function, and which request, it is of."""

import io
import json
import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from baton_local import log_lines
from baton_local.functions import Function, LambdaContext
from baton_local.stack.declarations import FunctionDefinition

SERVICE = "test-log-lines"
HANDLER = f'''
import asyncio
import logging

from aws_lambda_powertools import Logger

from baton.composition.startup import event_loop

logger = Logger(service="{SERVICE}")


async def work(event):
    Logger(service="{SERVICE}", child=True).warning("in a task")
    await asyncio.to_thread(logging.getLogger("{SERVICE}.adapter").warning, "in a thread")


@logger.inject_lambda_context(clear_state=True)
def handler(event, context):
    logger.append_keys(**event["keys"])
    event["met"].wait(10)
    logger.warning("in the handler")
    event_loop.run(work(event))


def plain(event, context):
    event["met"].wait(10)
    logger.warning("without a decorator")
'''


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """The log lines of the functions."""
    stream = io.StringIO()
    logger = Logger(service=SERVICE, stream=stream)
    yield stream
    logging.getLogger(SERVICE).removeHandler(logger.registered_handler)
    logging.Logger.manager.loggerDict.pop(SERVICE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(HANDLER)
    return tmp_path


def function(folder: Path, name: str, handler: str = "app.handler") -> Function:
    definition = FunctionDefinition(name=name, folder=folder, handler=handler, timeout=10, memory=128, variables={})
    return Function(definition)


def parse_logged(lines: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def test_lines_of_functions_that_run_at_the_same_time_bear_their_own_names_and_keys(
    folder: Path, lines: io.StringIO
) -> None:
    both = [function(folder, "SocketsFunction"), function(folder, "TurnsFunction")]
    met = threading.Barrier(2)
    events = [{"met": met, "keys": {"connection_id": "c-1"}}, {"met": met, "keys": {"thread_id": "t-1"}}]
    for item in [one.invoke(event) for one, event in zip(both, events, strict=True)]:
        item.result()
    result = parse_logged(lines)
    for name, own, other in (
        ("SocketsFunction", "connection_id", "thread_id"),
        ("TurnsFunction", "thread_id", "connection_id"),
    ):
        mine = [line for line in result if line["function_name"] == name]
        assert {line["message"] for line in mine} == {"in the handler", "in a task", "in a thread"}
        assert all(line["function_arn"].endswith(f":{name}") and own in line and other not in line for line in mine)
        assert len({line["function_request_id"] for line in mine}) == 1
        assert {line["service"] for line in mine} == {SERVICE}
    for item in both:
        item.end()


def test_a_function_that_sets_no_keys_has_its_name_and_nobody_elses_keys(folder: Path, lines: io.StringIO) -> None:
    met = threading.Barrier(1)
    decorated, plain = function(folder, "TurnsFunction"), function(folder, "HttpFunction", "app.plain")
    decorated.invoke({"met": met, "keys": {"thread_id": "t-1"}}).result()
    plain.invoke({"met": met, "keys": {}}).result()
    last = parse_logged(lines)[-1]
    assert (last["message"], last["function_name"]) == ("without a decorator", "HttpFunction")
    assert "thread_id" not in last
    for item in (decorated, plain):
        item.end()


def test_lines_of_no_invocation_bear_no_function(lines: io.StringIO) -> None:
    with log_lines.of(LambdaContext("StreamsFunction", 10, 128)):
        logging.getLogger(f"{SERVICE}.app").warning("streamed")
    logging.getLogger(f"{SERVICE}.app").warning("outside")
    assert [line.get("function_name") for line in parse_logged(lines)] == ["StreamsFunction", None]


def test_developers_read_the_same_lines_with_tracebacks(folder: Path, lines: io.StringIO) -> None:
    failing = (
        HANDLER
        + """

def failing(event, context):
    try:
        {}["A-9"]
    except KeyError:
        logger.exception("Tool failed", extra={"tool": "order_status"})
"""
    )
    (folder / "app.py").write_text(failing)
    with log_lines.readable_lines(are_wanted=True):
        function(folder, "TurnsFunction", "app.failing").invoke({}).result()
    first, *trace = lines.getvalue().splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d ERROR turns: Tool failed  \[tool=order_status\]", first)
    assert (trace[0], trace[-1]) == ("Traceback (most recent call last):", "KeyError: 'A-9'")
