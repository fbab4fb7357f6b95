"""`baton eval`: the cases that it holds, its reports, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from baton_project.project import Project
from baton_testing.evals.results import EvaluationRecord
from tests.unit.evals.command import run, save_cases
from tests.unit.project.conftest import edit

HELLO = {"name": "Hello", "input": "Hello", "checks": [{"type": "contains", "text": "A-1001"}]}


def test_a_new_projects_cases_pass_and_are_summed_up(project: Project, tmp_path: Path) -> None:
    results = tmp_path / "reports" / "results.json"
    completed = run(project, "--repeat", "2", "--json", str(results))
    assert (completed.code, completed.errors) == (0, "")
    passed = next(line.split() for line in completed.output.splitlines() if line.startswith("passed"))
    assert passed == ["passed", "100.0%", "43.9%", "to", "100.0%", "6"]
    record = EvaluationRecord.model_validate_json(results.read_text())
    assert [len(case.runs) for case in record.cases] == [2, 2, 2]
    returns = next(case for case in record.cases if case.name == "A question about returns")
    assert "30 days" in returns.runs[0].answer
    assert [score.metric for score in returns.runs[0].scores] == ["contains", "tool_not_called"]


def test_a_case_that_fails_shows_the_reason_and_decides_by_the_share(project: Project) -> None:
    path = save_cases(project, HELLO, {**HELLO, "name": "Bye", "checks": [{"type": "contains", "text": "Goodbye"}]})
    completed = run(project, str(path))
    assert completed.code == 1
    assert f"FAILED     {path}:2 Bye" in completed.output
    assert "contains: it lacks 'Goodbye'" in completed.output
    assert "answer: Hello! Ask me about an order" in completed.output
    assert run(project, str(path), "--fail-under", "0.5").code == 0


def test_documents_of_the_project_are_found_and_cited(project: Project) -> None:
    checks = [
        {"type": "retrieves", "documents": ["returns.md"], "k": 1, "min_precision": 1},
        {"type": "tool_called", "tool": "ask_orders"},
    ]
    path = save_cases(project, {"name": "Returns", "input": "How do I send goods back?", "checks": checks})
    completed = run(project, str(path))
    assert completed.code == 0, completed.output
    assert "retrieves.recall@1" in completed.output


def test_files_go_with_a_message(project: Project) -> None:
    (project.folder / "evals" / "note.txt").write_text("The order is A-1003.")
    checks = [{"type": "contains", "text": "A-1003 was delivered"}]
    turn = {"say": "Hello, read this", "files": ["note.txt"]}
    completed = run(project, str(save_cases(project, {"name": "A file", "input": turn, "checks": checks})))
    assert completed.code == 0, completed.output


def test_a_run_that_ends_with_an_error_has_failed(project: Project) -> None:
    edit(project.folder / "demo.yaml", "- say: Hello! Ask me about an order, such as A-1001.", "- say: '{{ 1 / 0 }}'")
    completed = run(project, str(save_cases(project, {"name": "Hello", "input": "Hello"})))
    assert completed.code == 1
    assert "the run ended with model_unavailable; The script failed: " in completed.output


def test_turns_may_approve_calls(project: Project) -> None:
    edit(project.folder / "agents" / "orders.yaml", "entry_point:", "requires_approval: true\n    entry_point:")
    edit(project.folder / "agents" / "assistant.yaml", "main: true", "main: false")
    edit(project.folder / "agents" / "orders.yaml", "id: orders", "id: orders\nmain: true")
    edit(project.folder / "pyproject.toml", 'default_agent = "assistant"', 'default_agent = "orders"')
    checks = [{"type": "tool_called", "tool": "order_status"}, {"type": "contains", "text": "on its way"}]
    path = save_cases(project, {"name": "Approved", "input": ["A-1001", {"approve": "order_status"}], "checks": checks})
    completed = run(project, str(path))
    assert completed.code == 0, completed.output


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (
            {"type": "tool_called", "tool": "order_state"},
            "checks.0.tool: no agent has a tool 'order_state' (did you mean order_status?)",
        ),
        ({"type": "answered_by", "agent": "asistant"}, "there is no agent 'asistant' (did you mean assistant?)"),
        ({"type": "consulted", "agent": ["orders", "faq"]}, "checks.0.agent: there is no agent 'faq'. Available:"),
    ],
)
def test_a_name_that_nothing_has_is_reported_before_anything_runs(
    project: Project, check: dict[str, object], problem: str
) -> None:
    path = save_cases(project, {"name": "Hello", "input": "Hello", "checks": [check]})
    completed = run(project, str(path))
    assert (completed.code, completed.output) == (2, "")
    assert f"{path}:1: " in completed.errors
    assert problem in completed.errors


def test_flaws_of_a_data_set_are_reported_with_the_names_that_nothing_has_in_the_order_of_lines(
    project: Project,
) -> None:
    unknown = [{"type": "consulted", "agent": "order"}]
    path = save_cases(
        project, {"name": "A", "input": "Hello", "checks": unknown}, {"nam": "B", "checks": unknown}, HELLO
    )
    completed = run(project, str(path))
    assert (completed.code, completed.output) == (2, "")
    lines = [line.removeprefix(f"{path}:") for line in completed.errors.splitlines()]
    assert [line.split(": ")[:2] for line in lines] == [
        ["1", "checks.0.agent"],
        ["2", "name"],
        ["2", "input"],
        ["2", "nam"],
        ["2", "checks.0.agent"],
    ]
    assert lines[-1] == "2: checks.0.agent: there is no agent 'order' (did you mean orders?)"


def test_flaws_of_a_data_set_are_reported_with_those_of_agents(project: Project) -> None:
    edit(project.folder / "agents" / "orders.yaml", "id: orders", "id: orders\nname: 7")
    completed = run(project, str(save_cases(project, {"input": "Hello"})))
    assert completed.code == 2
    assert "own.jsonl:1: name: Field required" in completed.errors
    assert "orders.yaml:" in completed.errors


def test_the_demo_model_judges_by_its_script_and_says_so_without_a_rule(project: Project) -> None:
    path = save_cases(project, {"name": "Hi", "input": "Hi", "checks": [{"type": "judge", "rubric": "It greets."}]})
    completed = run(project, str(path))
    assert completed.code == 2
    assert (
        "judge: the judge failed: model_unavailable: No rule of the script with `task: eval_judge` fits."
        in completed.output
    )
    assert "note: The demo model judges only by rules" in completed.output
    assert "Name a model that judges: --judge MODEL." in completed.output


def test_a_rule_of_the_script_judges(project: Project) -> None:
    rule = """- task: eval_judge\n      say: '{"grade": 9, "reason": "It greets."}'\n    - task: thread_title"""
    edit(project.folder / "demo.yaml", "- task: thread_title", rule)
    path = save_cases(project, {"name": "Hi", "input": "Hi", "checks": [{"type": "judge", "rubric": "It greets."}]})
    completed = run(project, str(path))
    assert (completed.code, "note:" in completed.output) == (0, False)


def test_one_case_and_one_run_are_no_plural(project: Project) -> None:
    completed = run(project, str(save_cases(project, HELLO)))
    assert "my-shop: 1 case, 1 run in " in completed.output


CITES = {
    "name": "Returns",
    "input": "How do I send goods back?",
    "checks": [{"type": "cites", "documents": ["returns.md"]}],
}


def test_documents_that_a_consulted_agent_cites_are_sources_of_the_answer(project: Project) -> None:
    edit(project.folder / "demo.yaml", "say: '{{ recalled[0].text }}'", "say: '{{ recalled[0].text }} (Returns)'")
    assert run(project, str(save_cases(project, CITES))).code == 0


def test_a_document_that_was_retrieved_and_not_cited_is_named(project: Project) -> None:
    completed = run(project, str(save_cases(project, CITES)))
    assert completed.code == 1
    assert "It was retrieved: an answer cites a document by its title in brackets, or its address" in completed.output


def test_an_agent_needs_its_version_and_a_url(project: Project) -> None:
    completed = run(project, "--agent", "orders")
    assert completed.code == 2
    assert "belong together" in completed.errors


def test_money_needs_prices(project: Project) -> None:
    completed = run(project, "--max-usd", "1")
    assert completed.code == 2
    assert "--max-usd needs the prices of models, and baton-demo has none. Set BATON_MODEL_PRICES." in completed.errors


def test_nothing_begins_any_more_when_the_money_is_spent(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_MODEL_PRICES", json.dumps({"baton-demo": {"input": 1000, "output": 1000}}))
    completed = run(project, "--max-usd", "0.1", "--concurrency", "1")
    assert completed.code == 1
    assert "2 runs did not take place. --max-usd: " in completed.output


def test_ctrl_c_ends_with_the_results_so_far(project: Project) -> None:
    tool = project.tools / "shop_tools" / "orders.py"
    edit(tool, '"""Return the order\'s state."""', '"""Return the order\'s state."""\n    raise KeyboardInterrupt')
    path = save_cases(project, HELLO, {**HELLO, "name": "Order", "input": "Where is my order A-1001?"})
    completed = run(project, str(path), "--concurrency", "1")
    assert completed.code == 130
    assert "1 run did not take place. It was interrupted." in completed.output


def test_editors_get_the_schema_of_a_line(project: Project) -> None:
    completed = run(project, "--schema")
    assert json.loads(completed.output) == json.loads((project.folder / "eval-case-schema.json").read_text())


def test_a_fault_of_code_is_shown_with_its_place(project: Project) -> None:
    tool = project.tools / "shop_tools" / "orders.py"
    edit(tool, '"""Return the order\'s state."""', '"""Return the order\'s state."""\n    raise ValueError("a bug")')
    checks = [{"type": "contains", "text": "on its way"}]
    completed = run(
        project, str(save_cases(project, {"name": "Order", "input": "Where is my order A-1001?", "checks": checks}))
    )
    assert completed.code == 1
    assert f"note: {tool}:" in completed.output
    assert "ValueError: a bug" in completed.output
