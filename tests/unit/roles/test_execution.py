"""Functions that share a process have separate variables and instances."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from baton.composition.startup import event_loop
from baton.composition.startup.environment import cache
from baton_local.execution import Variables, make_views
from baton_local.functions import running
from baton_local.stack.declarations import FunctionDefinition


def function(name: str, **variables: str) -> FunctionDefinition:
    return FunctionDefinition(name, Path(), "app.handler", 3.0, 128, variables, frozenset())


ALL = {"BATON_TABLE": "t", "BATON_QUEUE": "q", "TIKTOKEN_CACHE_DIR": "here", "OPENAI_API_KEY": "sk", "PATH": "/bin"}
FUNCTIONS = {
    "Counting": function("Counting", BATON_TABLE="t", BATON_QUEUE="q", TIKTOKEN_CACHE_DIR="/opt/tokenizer"),
    "Plain": function("Plain", BATON_TABLE="t", TIKTOKEN_CACHE_DIR="/opt/tokenizer"),
}


def test_a_function_sees_the_variables_that_the_template_gives_it() -> None:
    seen = Variables(dict(ALL), make_views(FUNCTIONS))
    with running("Counting"):
        assert dict(seen) == {"BATON_TABLE": "t", "BATON_QUEUE": "q", "TIKTOKEN_CACHE_DIR": "here", "PATH": "/bin"}
    with running("Plain"):
        assert "BATON_QUEUE" not in seen
        assert seen.get("OPENAI_API_KEY") is None
        assert (seen | {"A": "1"}).keys() == {"BATON_TABLE", "TIKTOKEN_CACHE_DIR", "PATH", "A"}
    assert dict(seen) == ALL


@pytest.mark.parametrize("name", ["BATON_LOCAL_OPEN_A2A", "BATON_BEDROCK_PROFILE", "BATON_BEDROCK_ENDPOINT"])
def test_what_only_the_local_cloud_has_reaches_every_function(name: str) -> None:
    seen = Variables({**ALL, name: "1"}, make_views(FUNCTIONS))
    with running("Plain"):
        assert seen[name] == "1"


def test_what_is_built_once_is_built_once_in_each_execution_environment() -> None:
    @cache
    def build_client() -> object:
        return object()

    with running("Counting"):
        mine = build_client()
        assert build_client() is mine
    with running("Plain"):
        assert build_client() is not mine
    with running("Counting"):
        assert build_client() is mine


def test_whose_code_runs_is_known_on_the_loop_that_all_handlers_share() -> None:
    @cache
    def build_client() -> object:
        return object()

    async def on_the_loop() -> object:
        return build_client()

    with running("Counting"):
        assert event_loop.run(on_the_loop()) is build_client()


def test_threads_that_build_at_the_same_time_get_the_same() -> None:
    entered = threading.Event()

    @cache
    def build_client() -> object:
        entered.set()
        return object()

    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(build_client())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered.is_set()
    assert len(set(map(id, results))) == 1
