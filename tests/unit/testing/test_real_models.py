"""Conversations with a model behind HTTP, in virtual time."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator

import pytest

from baton_local.demo_model.app import create_app
from baton_project.project import Project
from baton_testing.virtual_time import VirtualTimeLoop, real_time
from tests.fault_model import ThreadedServer
from tests.unit.testing.command import cassette_of, run, save_tests

TALK = {
    "conversations": [{"name": "A talk", "steps": [{"say": "Where is A-1001?", "expect": {"consulted": "orders"}}]}]
}


@pytest.fixture
def endpoint(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The demo model behind OpenAI's API, which takes its time."""
    server = ThreadedServer(create_app({"BATON_DEMO_SCRIPT": str(project.folder / "demo.yaml")}))
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.start()}")
    monkeypatch.setenv("BATON_CHAT_MODEL", "baton-demo")
    monkeypatch.setenv("BATON_MODEL_METADATA", "true")
    yield
    server.stop()


@pytest.mark.usefixtures("endpoint")
def test_a_real_model_is_recorded_and_then_not_needed_any_more(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_tests(project, TALK)
    assert run(project, path, "--record").code == 0
    recorded = json.loads(cassette_of(path).read_text())
    assert recorded["models"] == {"default": "baton-demo", "light": "baton-demo"}
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    assert run(project, path).code == 0


@pytest.mark.usefixtures("endpoint")
def test_a_real_model_may_be_one_of_a_named_provider(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = {"baseUrl": os.environ["OPENAI_BASE_URL"], "metadata": True}
    monkeypatch.setenv("BATON_MODEL_PROVIDERS", json.dumps({"here": provider}))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("BATON_CHAT_MODEL", "here/baton-demo")
    assert run(project, save_tests(project, TALK), "--model", "real").code == 0


def test_what_is_wrong_about_providers_is_said(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_MODEL_PROVIDERS", '{"here": {}}')
    monkeypatch.setenv("BATON_CHAT_MODEL", "here/baton-demo")
    ran = run(project, save_tests(project, TALK), "--model", "real")
    assert ran.code == 2
    assert "here.baseUrl: is missing" in ran.errors


def test_a_model_that_cannot_be_reached_is_not_recorded(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("BATON_CHAT_MODEL", "baton-demo")
    path = save_tests(project, TALK)
    ran = run(project, path, "--record")
    assert ran.code == 1
    assert "the error model_unavailable" in ran.output
    assert not cassette_of(path).exists()


def test_time_limits_do_not_run_out_at_once_while_something_outside_is_asked() -> None:
    async def ask() -> bool:
        answered = asyncio.get_running_loop().create_future()
        async with real_time(), asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            for _ in range(20):
                tasks.create_task(enter_real_time())
            asyncio.get_running_loop().call_later(0.01, answered.set_result, True)  # noqa: FBT003
            return bool(await answered)

    async def enter_real_time() -> None:
        async with real_time():
            await asyncio.to_thread(lambda: None)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(ask())


def test_years_pass_at_once() -> None:
    async def wait() -> float:
        await asyncio.sleep(10 * 365 * 86_400)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(wait()) == 10 * 365 * 86_400


@pytest.mark.usefixtures("endpoint")
def test_the_endpoints_words_about_a_refused_request_are_a_note(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{os.environ['OPENAI_BASE_URL']}/nothing-here")
    ran = run(project, save_tests(project, TALK), "--model", "real")
    assert ran.code == 1
    note = next(line for line in ran.output.splitlines() if "note: " in line)
    assert "baton-demo: model_" in note
    assert "Invalid URL (POST /nothing-here/chat/completions)" in note
