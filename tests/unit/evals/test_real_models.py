"""Evaluations with models behind HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from baton_local.demo_model.app import create_app
from baton_project.project import Project
from baton_testing.evals.results import EvaluationRecord
from tests.fault_model import ThreadedServer
from tests.unit.evals.command import run, save_cases
from tests.unit.project.conftest import edit

PRICES = json.dumps({"baton-demo": {"input": 100, "output": 100}})


@pytest.fixture(autouse=True)
def endpoint(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The demo model behind OpenAI's API, also as an embedding model."""
    server = ThreadedServer(create_app({"BATON_DEMO_SCRIPT": str(project.folder / "demo.yaml")}))
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.start()}")
    monkeypatch.setenv("BATON_MODEL_METADATA", "true")
    yield
    server.stop()


def test_the_model_and_the_embedding_model_are_those_of_the_environment(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BATON_EMBEDDING_MODEL", "all-MiniLM-L6-v2")
    monkeypatch.setenv("BATON_EMBEDDING_DIMENSIONS", "384")
    monkeypatch.setenv("BATON_MODEL_PRICES", PRICES)
    results = tmp_path / "results.json"
    completed = run(project, "--model", "baton-demo", "--max-usd", "100", "--concurrency", "3", "--json", str(results))
    assert (completed.code, completed.errors) == (0, "")
    record = EvaluationRecord.model_validate_json(results.read_text())
    assert (record.model, record.embedder) == ("baton-demo", "all-MiniLM-L6-v2")
    assert all(run.usd for case in record.cases for run in case.runs)


def test_only_agents_that_name_a_model_keep_it(project: Project, tmp_path: Path) -> None:
    edit(project.agents / "orders.yaml", "id: orders\n", "id: orders\nmodel: {name: baton-demo}\n")
    results = tmp_path / "results.json"
    run(
        project,
        str(save_cases(project, {"name": "Hi", "input": "Hi"})),
        "--model",
        "baton-demo",
        "--json",
        str(results),
    )
    record = EvaluationRecord.model_validate_json(results.read_text())
    assert record.notes == ("These agents keep the models of their definitions, whatever --model says: orders.",)


def test_a_judge_is_asked_by_its_name_and_without_a_script_for_it_does_not_judge(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BATON_CHAT_MODEL", "baton-demo")
    results = tmp_path / "results.json"
    path = save_cases(project, {"name": "Hi", "input": "Hi", "checks": [{"type": "judge", "rubric": "It greets."}]})
    completed = run(project, str(path), "--judge", "judge-model", "--json", str(results))
    assert (completed.code, "Nothing was judged." in completed.errors) == (2, True)
    record = EvaluationRecord.model_validate_json(results.read_text())
    assert record.judge == "judge-model, prompt 2"
    assert record.cases[0].runs[0].passed is None


def test_a_model_that_cannot_be_reached_fails_the_runs(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("BATON_CHAT_MODEL", "baton-demo")
    path = save_cases(project, {"name": "Hi", "input": "Hi"})
    completed = run(project, str(path))
    assert completed.code == 1
    assert "error: the run ended with model_unavailable" in completed.output


def test_a_real_model_may_judge_what_the_demo_models_script_has_answered(project: Project, tmp_path: Path) -> None:
    rule = """- task: eval_judge\n      say: '{"grade": 9, "reason": "It greets."}'\n    - task: thread_title"""
    edit(project.folder / "demo.yaml", "- task: thread_title", rule)
    results = tmp_path / "results.json"
    path = save_cases(project, {"name": "Hi", "input": "Hi", "checks": [{"type": "judge", "rubric": "It greets."}]})
    completed = run(project, str(path), "--judge", "judge-model", "--json", str(results))
    assert (completed.code, completed.errors) == (0, "")
    record = EvaluationRecord.model_validate_json(results.read_text())
    assert (record.model, record.judge) == ("baton-demo", "judge-model, prompt 2")
