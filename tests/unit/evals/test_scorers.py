"""Scorers in Python beside a data set: what they get and return, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from baton_project.project import Project
from baton_testing.evals import Answer, EvalCase, scorers
from baton_testing.evals.checks import PythonScorer
from baton_testing.evals.reading import ReadCase
from baton_testing.evals.results import EvaluationRecord, Score
from baton_testing.evals.scorers import Scorers
from tests.unit.evals.command import run, save_cases

SCORERS = '''
import asyncio
import sys
import threading

from baton_testing.evals import Answer, EvalCase


def brief(answer: Answer, words: int = 10) -> tuple[float, str]:
    """Score short answers."""
    count = len(answer.text.split())
    return min(1.0, words / max(count, 1)), f"{count} words"


async def expects(answer: Answer, case: EvalCase) -> bool:
    await asyncio.sleep(0)
    return answer.text == case.metadata["wanted"]


def unsure(answer: Answer) -> None:
    return None


def broken(answer: Answer) -> float:
    return answer.nothing


def leaves() -> float:
    sys.exit(3)


def odd() -> str:
    return "good"


def large() -> float:
    return 1.5


def needs(answer: Answer, limit: int) -> bool:
    return True


async def slow() -> bool:
    await asyncio.Event().wait()
    return True


def unreachable() -> bool:
    raise TimeoutError("no answer from localhost")


def hangs() -> bool:
    threading.Event().wait()
    return True


def silent() -> tuple[None, None]:
    return None, None


def huge() -> int:
    return 10**400


def nothing() -> float:
    return float("nan")
'''


def folder(tmp_path: Path, text: str = SCORERS, name: str = "scorers.py") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / "cases.jsonl"


def read(path: Path, **check: Any) -> ReadCase:
    case = {"name": "A", "input": "Hi", "metadata": {"wanted": "Yes"}, "checks": [{"type": "python", **check}]}
    return ReadCase(path, 1, EvalCase.model_validate(case))


async def score_answer(path: Path, answer: Answer, **check: Any) -> Score:
    case = read(path, **check)
    [request] = case.case.checks
    assert isinstance(request, PythonScorer)
    return await Scorers().score(request, case, answer)


@pytest.mark.parametrize(
    ("check", "text", "value", "passed", "reason"),
    [
        ({"function": "brief"}, "one two", 1.0, True, ""),
        ({"function": "brief"}, "word " * 40, 0.25, False, "0.250 is below 0.5; 40 words"),
        ({"function": "brief", "threshold": 0.2}, "word " * 40, 0.25, True, ""),
        ({"function": "brief", "arguments": {"words": 40}}, "word " * 40, 1.0, True, ""),
        ({"function": "scorers:expects"}, "Yes", 1.0, True, ""),
        ({"function": "expects"}, "No", 0.0, False, "expects returned False"),
        ({"function": "unsure"}, "", None, None, "unsure has not judged"),
        ({"function": "silent"}, "", None, None, "silent has not judged"),
        ({"function": "broken"}, "", None, None, "scorers.py:25: AttributeError: 'Answer' object has no attribute"),
        ({"function": "leaves"}, "", None, None, "sys.exit(3) was called"),
        ({"function": "unreachable"}, "", None, None, "scorers.py:50: TimeoutError: no answer from localhost"),
        ({"function": "odd"}, "", None, None, "odd returned 'good'. It must return True or False, a number"),
        ({"function": "large"}, "", None, None, "large returned 1.5"),
        ({"function": "huge"}, "", None, None, "huge returned 1000"),
        ({"function": "nothing"}, "", None, None, "nothing returned nan"),
    ],
)
async def test_a_function_returns_a_score_with_a_reason_or_has_not_judged(
    tmp_path: Path, check: dict[str, Any], text: str, value: float | None, passed: bool | None, reason: str
) -> None:
    result = await score_answer(folder(tmp_path), Answer(text=text.strip()), **check)
    assert (result.value, result.passed) == (value, passed)
    assert reason in result.reason
    assert bool(reason) is bool(result.reason)


async def test_a_function_that_never_ends_has_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorers, "SECONDS", 0.01)
    result = await score_answer(folder(tmp_path), Answer(), function="slow")
    assert result.reason == "slow has taken more than 0.01 seconds"


def test_a_function_that_blocks_its_thread_holds_up_neither_other_scores_nor_the_end(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorers, "SECONDS", 0.01)
    folder(project.folder / "evals")
    checks = [{"type": "python", "function": "hangs"}, {"type": "contains", "text": "A-1001"}]
    path = save_cases(project, *({"name": name, "input": "Hello", "checks": checks} for name in ("One", "Two")))
    results = tmp_path / "results.json"
    run(project, str(path), "--json", str(results))
    record = EvaluationRecord.model_validate_json(results.read_text())
    scores = [[(score.metric, score.passed) for score in case.runs[0].scores] for case in record.cases]
    assert scores == [[("hangs", None), ("contains", True)]] * 2


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ({"function": "brif"}, "function: scorers.py has no function 'brif' (did you mean brief?)"),
        ({"function": "more:brief"}, "function: there is no file more.py beside the data set"),
        ({"function": "wrong:brief"}, "wrong.py:1: SyntaxError:"),
        ({"function": "brief", "arguments": {"word": 3}}, "arguments.word: brief takes no such argument (did you mean"),
        ({"function": "brief", "arguments": {"answer": 3}}, "arguments.answer: brief takes no such argument"),
        ({"function": "needs"}, "arguments: needs needs limit"),
    ],
)
def test_a_function_that_cannot_be_called_is_a_problem_of_its_line(
    tmp_path: Path, check: dict[str, Any], problem: str
) -> None:
    folder(tmp_path, "def brief(:\n", "wrong.py")
    path = folder(tmp_path)
    [results] = Scorers().find_problems([read(path, **check)])
    assert str(results).startswith(f"{path}:1: checks.0.")
    assert problem in str(results)


@pytest.mark.parametrize("name", ["../evil:run", "os.path:join", "a b", "", "x:", "/x:run"])
def test_a_function_is_named_by_identifiers_so_that_no_other_folder_is_reached(name: str) -> None:
    with pytest.raises(ValueError, match="function"):
        read(Path("cases.jsonl"), function=name)


def test_scorers_of_a_project_are_metrics_beside_others(project: Project, tmp_path: Path) -> None:
    folder(project.folder / "evals")
    checks = [
        {"type": "python", "function": "brief", "arguments": {"words": 5}, "threshold": 0.4},
        {"type": "python", "function": "brief", "name": "very_brief", "arguments": {"words": 1}},
        {"type": "contains", "text": "A-1001"},
    ]
    path = save_cases(project, {"name": "Hello", "input": "Hello", "checks": checks})
    results = tmp_path / "results.json"
    completed = run(project, str(path), "--json", str(results))
    assert (completed.code, completed.errors) == (1, "")
    assert "very_brief: 0.111 is below 0.5; 9 words" in completed.output
    record = EvaluationRecord.model_validate_json(results.read_text())
    assert [score.metric for score in record.cases[0].runs[0].scores] == ["brief", "very_brief", "contains"]


def test_a_scorer_that_is_not_there_is_reported_before_anything_runs(project: Project) -> None:
    folder(project.folder / "evals")
    checks = [{"type": "python", "function": "polite"}]
    path = save_cases(project, {"name": "Hello", "input": "Hello", "checks": checks})
    completed = run(project, str(path))
    assert (completed.code, completed.output) == (2, "")
    assert f"{path}:1: checks.0.function: scorers.py has no function 'polite' (available: " in completed.errors
