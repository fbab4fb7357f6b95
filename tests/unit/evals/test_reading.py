"""Data sets: what is wrong with one is reported with its place and a remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from baton_local.root import ROOT
from baton_project.schemas import make_case_schema
from baton_testing.errors import CannotRun
from baton_testing.evals import reading
from baton_testing.evals.reading import read_datasets

GOOD = {"name": "A case", "input": "Hello", "checks": [{"type": "contains", "text": "Hello"}]}


def test_a_text_is_one_message_and_a_list_is_several_turns(tmp_path: Path) -> None:
    turns = ["Hello", {"say": "Refund it"}, {"approve": "refund", "comment": "Fine"}]
    one, several = read_datasets([_write(tmp_path, GOOD, {**GOOD, "name": "Turns", "input": turns})])
    assert [turn.say for turn in one.case.input] == ["Hello"]
    assert several.case.input[2].approve == "refund"
    assert (several.place, several.line) == (f"{tmp_path / 'cases.jsonl'}:2", 2)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"name": "A", "input": }', "1:24: it is no JSON: Expecting value. Each line is one whole object."),
        ("[1]", "1: a case is a JSON object, such as"),
        ('{"name": "A", "name": "B", "input": "x"}', "1: 'name' is there twice in one object"),
        ('{"name": "A", "input": NaN}', "1: NaN is no JSON"),
        ("[" * 200_000, "1: it is nested too deeply"),
        ({**GOOD, "metadata": {"a": json.loads("[" * 100 + "]" * 100)}}, "1: it is nested too deeply"),
        ('{"name": "A", "input": "x", "metadata": {"a": 1e999}}', "1: Out of range float values are not JSON"),
        ({**GOOD, "metadata": {"a": "\ud83d"}}, "1: it has half of a character"),
        ({"input": "Hello"}, "1: name: Field required"),
        ({**GOOD, "check": []}, "1: check: there is no such field (did you mean checks?)"),
        ({**GOOD, "contains": "x"}, "1: contains: there is no such field"),
        ({**GOOD, "checks": [{"type": "contains", "text": "x", "regex": "y"}]}, "1: checks.0.regex: there is no such"),
        ({**GOOD, "input": []}, "1: input: Tuple should have at least 1 item"),
        ({**GOOD, "input": [{"approve": True}]}, "1: input: the first turn is a message, or asks"),
        ({**GOOD, "input": ["Hello", {"say": "x", "decline": True}]}, "1: input.1: does one of: say, approve, decline"),
        ({**GOOD, "input": ["Hello", {"approve": False}]}, "1: input.1: approve cannot be false, null or empty"),
        ({**GOOD, "input": ["Hello", {"exit": False}]}, "1: input.1: exit cannot be false, null or empty"),
        ({**GOOD, "input": {"say": "Read it", "files": ["no.pdf"]}}, "1: input.0.files: there is no file no.pdf"),
        (
            {**GOOD, "input": {"say": "Read it", "files": ["/etc/hosts"]}},
            "1: input.0.files: /etc/hosts is outside of the",
        ),
        (
            {**GOOD, "input": {"say": "Read it", "files": ["a/../../b"]}},
            "1: input.0.files: a/../../b is outside of the",
        ),
        ({**GOOD, "input": {"say": "Read it", "files": ["\0"]}}, "is outside of the data set's folder. Copy it there"),
        ({**GOOD, "expected": "Hi"}, "1: expected: no check compares with it. Add"),
        ({**GOOD, "checks": [{"type": "similarity"}]}, "1: checks: similarity needs a text, its own or that of"),
        ({**GOOD, "checks": [{"type": "json_equals"}]}, "1: checks: json_equals needs a value, its own or that of"),
        ({**GOOD, "checks": [{"type": "contain", "text": "x"}]}, "no check 'contain' (did you mean contains?)"),
        ({**GOOD, "checks": [{"text": "x"}]}, "1: checks.0.type: is missing. Available: contains, "),
        (
            {**GOOD, "checks": [{"type": "regex", "pattern": "(?=x)"}]},
            "1: checks.0.pattern: the pattern '(?=x)' cannot",
        ),
        ({**GOOD, "checks": [{"type": "json_schema", "schema": {"type": 3}}]}, "checks.0.schema: is no JSON Schema"),
        ({**GOOD, "checks": [{"type": "judge", "rubric": "x", "votes": 2}]}, "checks.0: votes: an odd number"),
        ({**GOOD, "checks": [{"type": "tool_called", "tool": "x", "time": 1}]}, "time: there is no such field (did"),
    ],
)
def test_a_problem_has_its_line_and_a_remedy(tmp_path: Path, line: str | dict[str, Any], problem: str) -> None:
    path = _write(tmp_path, line)
    with pytest.raises(CannotRun) as raised:
        read_datasets([path])
    assert str(raised.value).startswith(f"{path}:1")
    assert problem in str(raised.value)


def test_all_problems_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    path = _write(tmp_path, {"input": "x"}, GOOD, GOOD)
    with pytest.raises(CannotRun) as raised:
        read_datasets([path])
    assert [line.split(": ")[0] for line in str(raised.value).splitlines()] == [f"{path}:1", f"{path}:3"]
    assert f"is the name of {path}:2 as well" in str(raised.value)


def test_a_link_out_of_the_folder_is_no_file_of_a_case(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (inside / "note.txt").symlink_to(tmp_path / "secret.txt")
    case = {**GOOD, "input": {"say": "Read it", "files": ["note.txt"]}}
    with pytest.raises(CannotRun, match=r"note\.txt is outside of the data set's folder"):
        read_datasets([_write(inside, case)])


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE", 200)
    with pytest.raises(CannotRun, match="more than 200 bytes"):
        read_datasets([_write(tmp_path, {**GOOD, "input": "x" * 300})])
    monkeypatch.setattr(reading, "MAX_CASES", 2)
    with pytest.raises(CannotRun, match="at most 2 cases"):
        read_datasets([_write(tmp_path, *({**GOOD, "name": str(number)} for number in range(3)))])


def test_only_cases_with_a_chosen_tag_count_towards_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_CASES", 1)
    path = _write(tmp_path, {**GOOD, "tags": ["a"]}, {**GOOD, "name": "Other", "tags": ["b"]})
    assert [case.case.name for case in read_datasets([path], tags=["b"])] == ["Other"]


def test_cases_are_chosen_by_tags(tmp_path: Path) -> None:
    path = _write(tmp_path, {**GOOD, "tags": ["a", "b"]}, {**GOOD, "name": "Other", "tags": ["c"]})
    assert [dataset.case.name for dataset in read_datasets([path], tags=["b"])] == ["A case"]
    with pytest.raises(CannotRun, match=r"no case has one of these tags\. Available: a, b, c"):
        read_datasets([path], tags=["d"])


def test_a_file_that_is_missing_and_an_empty_one_are_reported(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="there is no such file or folder"):
        read_datasets([tmp_path / "no.jsonl"])
    with pytest.raises(CannotRun, match="no cases"):
        read_datasets([_write(tmp_path, "", "  ")])
    (tmp_path / "folder").mkdir()
    with pytest.raises(CannotRun, match="no data sets"):
        read_datasets([tmp_path / "folder"])


def test_the_schema_accepts_the_examples() -> None:
    validator = Draft202012Validator(make_case_schema())
    examples = [*ROOT.glob("baton_project/skeleton/evals/*.jsonl"), *ROOT.glob("examples/projects/*/evals/*.jsonl")]
    lines = [line for path in examples for line in path.read_text().splitlines()]
    assert len(lines) >= 3
    assert [error.message for line in lines for error in validator.iter_errors(json.loads(line))] == []
    assert not validator.is_valid({**GOOD, "checks": [{"type": "contain", "text": "x"}]})


def _write(folder: Path, *lines: str | dict[str, Any]) -> Path:
    path = folder / "cases.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path
