"""Reports: JUnit, JSON and the page; and comparisons with other versions."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from baton_project.project import Project
from baton_testing.errors import CannotRun
from baton_testing.evals.targets import against
from baton_testing.evals.targets.against import Other, check_out, find_other
from tests.unit.evals.command import run, save_cases
from tests.unit.project.conftest import edit

GREETING = "Hello! Ask me about an order, such as A-1001."
CASES = [
    {"name": "Hello", "input": "Hello", "checks": [{"type": "contains", "text": "A-1001"}]},
    {"name": "<b>Bye</b>\x1b", "input": "Bye", "checks": [{"type": "contains", "text": "Goodbye"}]},
    {"name": "Judged", "input": "Hello", "checks": [{"type": "judge", "rubric": "It is friendly."}]},
]


def test_continuous_integration_gets_junit(project: Project, tmp_path: Path) -> None:
    path, report = save_cases(project, *CASES), tmp_path / "reports" / "evals.xml"
    assert run(project, str(path), "--junit", str(report)).code == 1
    xml = JUnitXml.fromfile(str(report))
    assert (xml.tests, xml.failures, xml.skipped) == (3, 1, 1)
    failed, skipped = (case for suite in xml for case in suite if case.result)
    assert failed.result[0].message == "contains: it lacks 'Goodbye'"
    assert GREETING in failed.result[0].text
    assert skipped.result[0].message.startswith("not judged: judge: the judge failed: model_unavailable")


def test_the_page_loads_nothing_and_shows_texts_as_texts(project: Project, tmp_path: Path) -> None:
    path, page = save_cases(project, *CASES), tmp_path / "evals.html"
    run(project, str(path), "--html", str(page))
    text = page.read_text()
    assert "&lt;b&gt;Bye&lt;/b&gt;" in text
    assert "<b>Bye" not in text
    assert re.search(r"<script|src=|href=|url\(|@import", text) is None
    assert "default-src 'none'" in text


def test_json_has_everything(project: Project, tmp_path: Path) -> None:
    results = tmp_path / "evals.json"
    run(project, str(save_cases(project, *CASES)), "--json", str(results))
    result = json.loads(results.read_text())
    assert [case["runs"][0]["passed"] for case in result["cases"]] == [True, False, None]
    passed = result["summary"]["metrics"][0]
    assert (passed["name"], passed["mean"], passed["runs"], passed["notJudged"]) == ("passed", 0.5, 2, 1)


@pytest.mark.nightly
def test_a_revision_of_git_is_compared(project: Project) -> None:
    git = ["git", "-C", str(project.folder), "-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "First"]):
        subprocess.run([*git, *command], check=True)
    edit(project.folder / "demo.yaml", GREETING, "Goodbye!")
    path = save_cases(project, *({**CASES[0], "name": str(number)} for number in range(6)))
    completed = run(project, str(path), "--against", "HEAD", "--fail-under", "0")
    assert (completed.code, completed.errors) == (1, "Evaluating HEAD first.\n")
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert f"compared with {commit[:12]}: worse" in completed.output
    assert "passed less often: 0, 1, 2, 3, 4, 5" in completed.output


def test_a_revision_with_a_link_to_a_place_outside_is_reported_and_not_followed(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    (tmp_path / "evals").symlink_to("/etc")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "First"]):
        subprocess.run([*git, *command], check=True)
    commit = find_other("rev:HEAD", tmp_path).revision
    with pytest.raises(CannotRun, match="cannot be unpacked"), check_out(str(commit), tmp_path):
        pass


def test_a_revision_over_the_limit_is_refused_before_it_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    (tmp_path / "large.txt").write_bytes(b"x" * 3_000_000)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "First"]):
        subprocess.run([*git, *command], check=True)
    commit = str(find_other("rev:HEAD", tmp_path).revision)
    sizes: list[int] = []

    class File(io.BytesIO):
        def write(self, piece: Any, /) -> int:
            sizes.append(len(piece))
            return super().write(piece)

    monkeypatch.setattr(against, "MAX_ARCHIVE", 1_500_000)
    with pytest.raises(CannotRun, match="has more than 1500000 bytes"):
        against._write_archive(commit, tmp_path, File())
    assert sum(sizes) <= 1_500_000


def test_a_problem_that_quotes_a_data_set_sends_nothing_to_the_terminal(project: Project) -> None:
    request = {"say": "Read it", "files": ["\x1b]0;hostile\x07.pdf"]}
    completed = run(project, str(save_cases(project, {**CASES[0], "input": request})))
    assert completed.code == 2
    assert "hostile" in completed.errors
    assert all(error.isprintable() or error == "\n" for error in completed.errors)


def test_the_version_to_compare_with_is_a_folder_a_revision_or_a_model(tmp_path: Path) -> None:
    assert find_other(str(tmp_path), tmp_path) == Other(folder=tmp_path)
    assert find_other("gpt-6-luna", tmp_path) == Other(model="gpt-6-luna")
    assert find_other(f"model:{tmp_path}", tmp_path) == Other(model=str(tmp_path))
    for text in ("dir:/no/such/folder", "rev:no-such-revision", "rev:--output=x"):
        with pytest.raises(CannotRun, match="--against"):
            find_other(text, tmp_path)


def test_without_git_a_revision_is_refused_and_a_model_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotRun, match="--against: Git cannot be run"):
        find_other("rev:HEAD", tmp_path)
    assert find_other("gpt-6-luna", tmp_path) == Other(model="gpt-6-luna")


@pytest.mark.parametrize("text", ["rev:main", "main"])
def test_a_revision_about_which_git_does_not_answer_is_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    def time_out(command: list[str], *, timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", time_out)
    with pytest.raises(CannotRun, match="--against: Git did not answer"):
        find_other(text, tmp_path)


@pytest.mark.nightly
def test_a_version_that_cannot_be_evaluated_is_reported(project: Project, tmp_path: Path) -> None:
    other = tmp_path / "other" / "my-shop"
    shutil.copytree(project.folder, other)
    edit(other / "agents" / "orders.yaml", "id: orders", "id: somebody")
    completed = run(project, str(save_cases(project, CASES[0])), "--against", str(other))
    assert completed.code == 2
    assert "--against: " in completed.errors
