"""Built functions run and answer as in Lambda, with AWS's runtime interface client and the Lambda Web Adapter.

Real are: the code, layers with their order and bytecode, handlers, variables, timeouts and log levels of the build;
Python 3.13; the client (awslambdaric); the adapter with response streaming; processes that are frozen between events.
Not real are: the Runtime API, which is the local cloud's server, written from AWS's documentation; compiled modules,
which are the same versions for this machine's processor; memory, processor shares, roles, and Amazon Linux. AWS's
services are DynamoDB Local, moto and the local cloud's gateway, and search is off.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from baton_local.lambda_runtime import host
from baton_local.lambda_runtime.log_levels import is_kept, read_metrics
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import Stack
from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import Gate
from tests.e2e.sockets import PATIENCE_SECONDS, new_id
from tests.e2e.users import User, run_input
from tests.fault_model import FaultModel
from tests.infrastructure.stack import ROOT

pytestmark = pytest.mark.nightly

ANSWERS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "AuthorizerFunction": ("authorizer_request", lambda answer: answer == "Exception: Unauthorized"),
    "SocketsFunction": ("websocket_connect", lambda answer: answer["statusCode"] == 200),
    "TurnsFunction": ("sqs_turns", lambda answer: answer == {"batchItemFailures": []}),
    "DeadTurnsFunction": ("sqs_dead_turns", lambda answer: answer == {"batchItemFailures": []}),
    "NotificationsFunction": ("sqs_notifications", lambda answer: answer == {"batchItemFailures": []}),
    "HttpFunction": ("rest_http", lambda answer: answer["statusCode"] == 401),
    "SweeperFunction": ("schedule_sweeper", lambda answer: answer["is_complete"] is True),
    "IngestionFunction": ("states_ingestion", lambda answer: answer == {"next": "clean"}),  # of no such document
    "ForgettingFunction": ("states_forgetting", lambda answer: answer.startswith("NotFound:")),  # of no such request
    "LearningFunction": ("states_learning_failed", lambda answer: answer == {"status": "failed", "goesOn": False}),
    "SearchFunction": ("search_unknown", lambda answer: answer.startswith("ValueError: There is no command")),
    "ClosingFunction": ("states_closing_failed", lambda answer: answer == {"status": "failed"}),
}
"""Function -> a sample of events/, and whether an answer to it is right."""
OF_THE_CHAT = ("AuthorizerFunction", "SocketsFunction", "TurnsFunction", "StreamsFunction", "HttpFunction")


@pytest.fixture(scope="module")
def web_adapter() -> Path:
    """The layer of the web adapter, which is compiled at its first use; skips where built functions cannot run."""
    try:
        host.find_namespace()
        host.find_python()
        return host.make_adapter_layer(default_cache_dir(), print)
    except host.HostProblem as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="module")
def built_cloud(
    web_adapter: Path, request: pytest.FixtureRequest, fault_model_server: FaultModel
) -> Iterator[RunningCloud]:
    """A local cloud whose functions are those of `sam build`."""
    build: Path = request.getfixturevalue("build")
    settings = {"BATON_LOCAL_BUILT": str(build), "BATON_LOCAL_SWEEP_SECONDS": "0", "BATON_LOCAL_DOCS": "false"}
    with RunningCloud(fault_model_server.base_url, settings=settings) as running:
        yield running


@pytest.fixture
async def ada(built_cloud: RunningCloud, tenant: str, fault_model: FaultModel) -> AsyncIterator[User]:
    """A user of the built functions."""
    async with httpx.AsyncClient(base_url=built_cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        yield User(built_cloud, client, tenant, "ada", built_cloud.token(tenant, "ada"))


def test_the_web_adapter_is_an_extension_that_lambda_starts(web_adapter: Path) -> None:
    for file in ("extensions/lambda-adapter", "bootstrap"):
        assert os.access(web_adapter / file, os.X_OK)


async def test_the_first_chat_goes_through_the_functions_of_the_build(ada: User, built_cloud: RunningCloud) -> None:
    thread_id = new_id()
    async with ada.connect() as socket:
        assert (await socket.say("Hello", thread_id=thread_id))[-1]["type"] == "RUN_FINISHED"
    answer = await ada.ask("Hello again", sessionId=thread_id)
    assert answer["messages"]
    events = await ada.run(run_input("And once more", thread_id=thread_id))
    assert events[-1]["type"] == "RUN_FINISHED"
    stored = await ada.messages(thread_id)
    assert [item["role"] for item in stored] == ["user", "assistant"] * 3
    for function in OF_THE_CHAT:
        assert built_cloud.log(function), f"{function} took no part"


async def test_a_stream_comes_through_the_web_adapter_while_the_model_still_writes(
    ada: User, fault_model: FaultModel
) -> None:
    gate = Gate()
    fault_model.script(gate.behaviour)
    text = ""
    async with ada.stream("POST", "/runs", json=run_input("Hello")) as events:
        async for event in events:
            text += event.get("delta", "")
            if text == gate.first:
                gate.open()
    assert text == gate.text


@pytest.mark.parametrize("name", ANSWERS)
def test_a_function_answers_from_its_build(name: str, built_cloud: RunningCloud) -> None:
    sample, is_right = ANSWERS[name]
    answer = built_cloud.invoke(name, json.loads((ROOT / f"events/{sample}.json").read_text()))
    assert is_right(answer), answer


def test_every_function_is_tried(product_stack: Stack) -> None:
    assert set(product_stack.functions) == {*ANSWERS, "StreamsFunction"}


def test_metrics_and_warnings_of_a_refused_connection_are_kept(built_cloud: RunningCloud) -> None:
    built_cloud.invoke("AuthorizerFunction", json.loads((ROOT / "events/authorizer_request.json").read_text()))
    log = built_cloud.log("AuthorizerFunction")
    assert [line for line in log if "ConnectionsRefused" in read_metrics(line) and is_kept(line, "ERROR")]
    assert [line for line in log if "Token refused" in line and is_kept(line, "WARN")]
