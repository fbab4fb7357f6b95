"""The function and the command that make and rebuild the indices."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from baton.adapters.opensearch.definitions import Layout
from baton.adapters.opensearch.engine import Engine
from baton.composition import search_commands
from baton.composition.startup import environment, event_loop
from baton.domain.documents.search import IndexName
from baton_local.root import ROOT
from tests.environment import INITIAL_ENVIRONMENT

pytestmark = pytest.mark.nightly

EVENT = {
    "RequestType": "Create",
    "StackId": "stack",
    "RequestId": "request",
    "LogicalResourceId": "SearchIndices",
    "ResourceProperties": {"Roles": []},
}


@pytest.fixture
def deployment(opensearch: str, layout: Layout, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The variables of a function of a new deployment, whose embedding model has eight dimensions."""
    variables = {
        "BATON_SEARCH_URL": opensearch,
        "BATON_SEARCH_PREFIX": layout.prefix,
        "BATON_EMBEDDING_MODEL": "some-model",
        "BATON_EMBEDDING_DIMENSIONS": "8",
        "POWERTOOLS_SERVICE_NAME": "baton",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    token = environment.current.set(layout.prefix)
    yield variables
    event_loop.run(search_commands.close())
    environment.current.reset(token)


@pytest.fixture
def cloudformation() -> Iterator[Any]:
    """The answers to CloudFormation at ``url``, in ``answers``."""
    reported = SimpleNamespace(url="", answers=[])

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            reported.answers.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    reported.url = f"http://127.0.0.1:{server.server_port}/answer"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield reported
    server.shutdown()
    thread.join()
    server.server_close()


def handle(event: dict[str, Any]) -> dict[str, Any]:
    context = SimpleNamespace(
        function_name="search",
        memory_limit_in_mb=512,
        invoked_function_arn="arn",
        aws_request_id="id",
        log_stream_name="stream",
        get_remaining_time_in_millis=lambda: 0,  # one attempt
    )
    answer: dict[str, Any] = runpy.run_path(str(ROOT / "functions/search/app.py"))["handler"](event, context)
    return answer


@pytest.mark.usefixtures("deployment")
async def test_a_deployment_makes_the_indices_and_answers_cloudformation(
    engine: Engine, layout: Layout, cloudformation: Any
) -> None:
    for request in ("Create", "Update", "Delete"):
        handle({**EVENT, "RequestType": request, "ResponseURL": cloudformation.url})
    assert [answer["Status"] for answer in cloudformation.answers] == ["SUCCESS"] * 3
    assert {answer["PhysicalResourceId"] for answer in cloudformation.answers} == {"search-indices"}
    response = await engine.request("GET", f"/{layout.prefix}-*")
    assert set(response) == {layout.make_version_name(index, 1) for index in IndexName}  # a deleted stack leaves them
    meta = response[layout.make_version_name(IndexName.EPISODES, 1)]["mappings"]["_meta"]
    assert (meta["embedder"], meta["dimensions"]) == ("some-model", 8)


def test_a_failure_is_reported_so_that_the_deployment_rolls_back(
    deployment: dict[str, str], monkeypatch: pytest.MonkeyPatch, cloudformation: Any
) -> None:
    monkeypatch.setenv("BATON_SEARCH_URL", "http://127.0.0.1:9")
    handle({**EVENT, "ResponseURL": cloudformation.url})
    [answer] = cloudformation.answers
    assert answer["Status"] == "FAILED"
    assert "127.0.0.1:9" in answer["Reason"]
    assert "Check OpenSearchEndpoint" in answer["Reason"]


def test_a_domain_without_access_control_refuses_roles(deployment: dict[str, str], cloudformation: Any) -> None:
    handle({**EVENT, "ResourceProperties": {"Roles": ["arn:role"]}, "ResponseURL": cloudformation.url})
    assert [answer["Status"] for answer in cloudformation.answers] == ["FAILED"]


@pytest.mark.usefixtures("deployment")
def test_an_unknown_command_is_refused() -> None:
    with pytest.raises(ValueError, match="migrate, reindex, rebuild, move, verify, repair"):
        handle({"command": "drop"})


def test_the_command_migrates_and_reindexes(deployment: dict[str, str], layout: Layout) -> None:
    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "baton.composition.admin", "search", *arguments],
            env={**INITIAL_ENVIRONMENT, **deployment, **more},
            capture_output=True,
            text=True,
            check=False,
        )

    instance = run("migrate")
    assert instance.returncode == 0, instance.stderr
    assert [state["version"] for state in json.loads(instance.stdout)] == [
        layout.make_version_name(i, 1) for i in IndexName
    ]
    assert [load["copied"] for load in json.loads(run("reindex", "knowledge").stdout)] == [0]
    down = run("migrate", BATON_SEARCH_URL="http://127.0.0.1:9")
    assert (down.returncode, down.stdout) == (1, "")
    assert "SearchUnavailable" in down.stderr
