"""`baton test`: which conversations it holds, what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from junitparser import JUnitXml

from baton.adapters.agents.yaml_document import YamlDocument
from baton_local.root import ROOT
from baton_project.project import Project
from tests.unit.project.conftest import edit
from tests.unit.testing.command import cassette_of, run, save_tests, write_conversation

HELLO = {"say": "Hello", "answers": ["Hello, Ada."]}
ORDER = {
    "say": "Where is A-1001?",
    "answers": [
        {"call": {"ask_orders": {"message": "Where is A-1001?"}}},
        {"agent": "orders", "call": {"order_status": {"number": "A-1001"}}},
        {"agent": "orders", "say": "It is on its way."},
        "Your order is on its way.",
    ],
}


def test_a_new_projects_conversations_pass(project: Project) -> None:
    ran = run(project)
    assert (ran.code, ran.errors) == (0, "")
    assert "2 passed" in ran.output


def test_a_failure_shows_the_step_what_was_expected_and_what_happened(project: Project) -> None:
    path = write_conversation(
        project, HELLO, {**ORDER, "expect": {"tool": "order_status", "arguments": {"number": "A-1002"}}}
    )
    ran = run(project, path)
    assert ran.code == 1
    line = Path(path).read_text().splitlines().index("    expect:") + 1
    assert f"{path}:{line}  say: Where is A-1001?" in ran.output
    assert 'expected: order_status is called with {"number": "A-1002"}' in ran.output
    assert 'orders called order_status {"number": "A-1001"}' in ran.output
    assert "Assistant: Hello, Ada." in ran.output
    assert "1 failed" in ran.output


def test_only_conversations_that_are_named_are_held(project: Project) -> None:
    report = run(project, "-k", "greeting", "--json").report
    assert [conversation["name"] for conversation in report["conversations"]] == ["A greeting needs no specialist"]


def test_a_name_that_no_conversation_has_is_reported_with_those_that_there_are(project: Project) -> None:
    ran = run(project, "-k", "weather")
    assert ran.code == 2
    assert "The state of an order" in ran.errors


def test_continuous_integration_gets_junit(project: Project, tmp_path: Path) -> None:
    write_conversation(project, {**HELLO, "expect": {"says": "\x1b Goodbye"}})
    assert run(project, "--junit", str(tmp_path / "reports" / "tests.xml")).code == 1
    xml = JUnitXml.fromfile(str(tmp_path / "reports" / "tests.xml"))
    assert (xml.tests, xml.failures) == (3, 1)
    [failed] = [case for suite in xml for case in suite if case.result]
    assert failed.name == "A talk"
    assert "Hello, Ada." in failed.result[0].text


def test_a_report_that_cannot_be_written_is_named_after_the_results(project: Project, tmp_path: Path) -> None:
    write_conversation(project, HELLO)
    ran = run(project, "--junit", str(tmp_path))
    assert ran.code == 2
    assert "passed" in ran.output
    assert f"{tmp_path} cannot be written: Is a directory." in ran.errors


def test_ctrl_c_ends_with_a_report_of_what_was_held(project: Project) -> None:
    tool = project.tools / "shop_tools" / "orders.py"
    edit(tool, '"""Return the order\'s state."""', '"""Return the order\'s state."""\n    raise KeyboardInterrupt')
    save_tests(project, {"conversations": [{"name": "First", "steps": [HELLO]}]}, "a")
    ran = run(project, "--json")
    assert ran.code == 130
    assert ([conversation["name"] for conversation in ran.report["conversations"]], ran.report["notRun"]) == (
        ["First"],
        2,
    )
    assert not ran.report["ok"]


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("conversations: [", "talk.yaml:2: did not find"),
        (
            "conversations:\n  - name: A\n    steps:\n      - sya: hi\n",
            ":4: conversations.0.steps.0.sya: there is no such",
        ),
        (
            "conversations:\n  - name: A\n    steps:\n      - {say: hi, exit: true}\n",
            ":4: conversations.0.steps.0: does one",
        ),
        ("conversations:\n  - name: A\n    steps:\n      - wait: soon\n", "steps.0.wait: must be a time such as"),
        ("conversations:\n  - name: A\n", "conversations.0: needs steps, or a persona"),
        ("conversations: [{name: A, answers: [Hi], steps: [say: hi]}]\n", "conversations.0: move answers to the step"),
        (
            "conversations: [{name: A, steps: [{say: hi, answers: [{ask_orders: {message: x}}]}]}]\n",
            "write the call of a tool as `call: {ask_orders: {ARGUMENT: VALUE}}`",
        ),
        ("conversations:\n  - {name: A, agent: orders, steps: [say: hi]}\n", "agent: 'orders' is no main agent"),
        (
            "tools: {weather: {returns: sunny}}\nconversations: [{name: A, steps: [say: hi]}]\n",
            "tools.weather: no agent",
        ),
        (
            "conversations:\n  - name: A\n    steps:\n      - say: hi\n        expect: {consulted: nobody}\n",
            "consulted: there is no agent 'nobody'. Available: assistant, orders",
        ),
        (
            "conversations:\n  - name: A\n    steps:\n      - {say: hi, files: [gone.pdf]}\n",
            "there is no file gone.pdf",
        ),
        (
            "conversations: [{name: A, steps: [say: hi]}, {name: A, steps: [say: hi]}]",
            "two conversations are named 'A'",
        ),
    ],
)
def test_a_broken_file_is_reported_with_line_and_field_and_nothing_is_held(
    project: Project, wrong: str, expected: str
) -> None:
    save_tests(project, wrong)
    ran = run(project)
    assert (ran.code, ran.output) == (2, "")
    assert expected in ran.errors


def test_two_agents_of_one_id_are_reported(project: Project) -> None:
    (project.agents / "zwilling.yaml").write_text((project.agents / "orders.yaml").read_text())
    ran = run(project)
    assert ran.code == 2
    assert "zwilling.yaml:3: id: orders.yaml defines the agent 'orders' too" in ran.errors


def test_a_tool_that_raises_at_import_is_reported(project: Project) -> None:
    tool = project.tools / "shop_tools" / "orders.py"
    edit(tool, "ORDERS = {", "ORDERS = 1 / 0 or {")
    ran = run(project)
    assert ran.code == 2
    assert "orders.yaml:" in ran.errors
    assert "ZeroDivisionError: division by zero" in ran.errors
    assert str(tool) in ran.errors


def test_a_folder_without_tests_says_how_to_make_one(project: Project) -> None:
    (project.folder / "tests" / "orders.yaml").unlink()
    ran = run(project)
    assert ran.code == 2
    assert "--from THREAD" in ran.errors


def test_a_changed_prompt_fails_with_its_difference(project: Project) -> None:
    path = save_tests(project, {"conversations": [{"name": "A talk", "steps": [{"say": "Hello"}]}]})
    assert run(project, path, "--model", "scripted", "--record").code == 0
    assert run(project, path).code == 0
    edit(project.agents / "assistant.yaml", "briefly and to the point", "at length")
    ran = run(project, path)
    assert ran.code == 1
    assert "This prompt was not recorded." in ran.output
    assert "-You are Assistant, the voice of a small shop. Answer in the customer's language, briefly" in ran.output
    assert "+You are Assistant, the voice of a small shop. Answer in the customer's language, at length" in ran.output


def test_a_cassette_of_another_version_is_refused_with_what_to_do(project: Project) -> None:
    path = save_tests(project, {"conversations": [{"name": "A talk", "steps": [{"say": "Hello"}]}]})
    assert run(project, path, "--model", "scripted", "--record").code == 0
    cassette = json.loads(cassette_of(path).read_text())
    cassette_of(path).write_text(json.dumps({**cassette, "format": 0, "baton": "0.0.9"}))
    ran = run(project, path)
    assert ran.code == 2
    assert "format 0 (written by Baton 0.0.9)" in ran.errors
    assert f"baton test {path} --record" in ran.errors


@pytest.mark.parametrize("damaged", ["{", "[]", '{"format": 1}', '{"format": 1, "models": 3, "conversations": {}}'])
def test_a_damaged_cassette_is_reported(project: Project, damaged: str) -> None:
    path = write_conversation(project, {"say": "Hello"}, model="recorded")
    cassette_of(path).write_text(damaged)
    ran = run(project, path)
    assert ran.code == 2
    assert "--record" in ran.errors


def test_recording_one_conversation_keeps_the_others(project: Project) -> None:
    talks = [{"name": name, "steps": [{"say": "Hello"}]} for name in ("One", "Two")]
    path = save_tests(project, {"conversations": talks})
    run(project, path, "--model", "scripted", "--record")
    run(project, path, "--model", "scripted", "--record", "-k", "Two")
    assert list(json.loads(cassette_of(path).read_text())["conversations"]) == ["One", "Two"]


def test_a_damaged_cassette_is_replaced_only_if_all_conversations_are_recorded(project: Project) -> None:
    talks = [{"name": name, "steps": [{"say": "Hello"}]} for name in ("One", "Two")]
    path = save_tests(project, {"conversations": talks})
    cassette_of(path).write_text("<<<<<<< HEAD")
    ran = run(project, path, "--model", "scripted", "--record", "-k", "Two")
    assert (ran.code, cassette_of(path).read_text()) == (2, "<<<<<<< HEAD")
    assert f"baton test {path} --record" in ran.errors
    assert run(project, path, "--model", "scripted", "--record").code == 0
    assert list(json.loads(cassette_of(path).read_text())["conversations"]) == ["One", "Two"]


def test_an_answer_that_the_test_lacks_and_one_that_nobody_asks_for_are_failures(project: Project) -> None:
    ran = run(project, write_conversation(project, {**ORDER, "answers": ORDER["answers"][:1]}))
    assert ran.code == 1
    assert "The test has no answer for orders." in ran.output
    ran = run(project, write_conversation(project, {**HELLO, "answers": ["Hello.", "Goodbye."]}))
    assert ran.code == 1
    assert "Nobody asked for the answer 'Goodbye.'." in ran.output


def test_without_a_model_in_the_environment_the_real_one_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BATON_CHAT_MODEL", raising=False)
    ran = run(project, "--model", "real")
    assert ran.code == 2
    assert "BATON_CHAT_MODEL" in ran.errors


def test_editors_get_a_schema_that_the_files_fit(project: Project) -> None:
    schema = run(project, "--schema").report
    assert schema == json.loads((project.folder / "conversation-test-schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    assert "A message." in json.dumps(schema)
    paths = [project.folder / "tests" / "orders.yaml", *ROOT.glob("examples/projects/*/tests/*.yaml")]
    validator = Draft202012Validator(schema)
    problems = {str(path): list(validator.iter_errors(YamlDocument.read(path).values)) for path in paths}
    assert {path: problem for path, problem in problems.items() if problem} == {}
