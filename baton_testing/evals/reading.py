"""Read data sets, with the place and the remedy of each problem."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from baton.domain.field_names import field_names, unknown_field
from baton.domain.text import encodable
from baton_testing.errors import CannotRun
from baton_testing.evals.checks import TYPES
from baton_testing.evals.dataset import EvalCase
from baton_testing.known_names import KnownNames

MAX_LINE = 1024 * 1024
"""Bytes of a line."""
MAX_CASES = 2_000
"""Cases of a run."""
MAX_DEPTH = 64
"""Objects and lists within each other."""
MAX_PROBLEMS = 50
"""Problems that are listed."""
SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class ReadCase:
    """A case, and its place."""

    path: Path
    line: int
    case: EvalCase

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.path}:{self.line}"


def read_datasets(paths: Sequence[Path], *, tags: Sequence[str] = ()) -> list[ReadCase]:
    """Return the cases of the files in their order, those with one of the ``tags`` if some are given.

    Raises ``CannotRun`` with the problems of all files.
    """
    found: list[ReadCase] = []
    problems: list[str] = []
    for path in _files(paths):
        for each in _read(path):
            if isinstance(each, str):
                problems.append(each)
            else:
                found.append(each)
            if len(found) > MAX_CASES:
                raise CannotRun(
                    f"{path}: a run has at most {MAX_CASES} cases. Choose some by --tag, or by fewer files."
                )
            if len(problems) >= MAX_PROBLEMS:
                raise CannotRun("\n".join([*problems, "There may be more problems."]))
    problems += _repeated_names(found)
    if problems:
        raise CannotRun("\n".join(problems[:MAX_PROBLEMS]))
    chosen = [each for each in found if not tags or set(tags) & set(each.case.tags)]
    if not chosen:
        known = ", ".join(sorted({tag for each in found for tag in each.case.tags})) or "none"
        names = ", ".join(map(str, paths))
        raise CannotRun(
            f"{names}: no case has one of these tags. There are: {known}" if found else f"{names}: no cases"
        )
    return chosen


def check_names(cases: Sequence[ReadCase], known: KnownNames) -> None:
    """Look up the agents and tools that cases name. Raises ``CannotRun`` with those that do not exist."""
    problems = [f"{each.place}: {problem}" for each in cases for problem in _unknown_names(each, known)]
    if problems:
        raise CannotRun("\n".join(problems[:MAX_PROBLEMS]))


def _files(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if each.suffix == SUFFIX)
            if not inside:
                raise CannotRun(f"{path}: no data sets (*{SUFFIX}) here.")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise CannotRun(f"{path}: there is no such file or folder. A data set is a file of JSON Lines, *{SUFFIX}.")
    return list(dict.fromkeys(found))


def _read(path: Path) -> Iterator[ReadCase | str]:
    """Yield each case of a file, or what is wrong with its line."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                place = f"{path}:{number}"
                if len(line) > MAX_LINE:
                    yield f"{place}: the line has more than {MAX_LINE} bytes. Put long content into `files`."
                    return
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    yield from _case(path, number, line)
    except OSError as problem:
        yield f"{path}: it cannot be read: {problem.strerror}"


def _case(path: Path, number: int, line: bytes) -> Iterator[ReadCase | str]:
    place = f"{path}:{number}"
    try:
        values = json.loads(line.decode(), object_pairs_hook=_without_repetitions, parse_constant=_refuse_constant)
        _check_writable(values)
    except UnicodeDecodeError as problem:
        yield f"{place}: it is not UTF-8 (byte {problem.start + 1})"
    except json.JSONDecodeError as problem:
        yield f"{place}:{problem.colno}: it is no JSON: {problem.msg}. Each line is one whole object."
    except RecursionError:
        yield f"{place}: it is nested too deeply"
    except ValueError as problem:
        yield f"{place}: {problem}"
    else:
        if not isinstance(values, dict):
            yield place + ': a case is a JSON object, such as {"name": ..., "input": ..., "checks": [...]}'
            return
        try:
            case = EvalCase.model_validate(values)
        except ValidationError as problem:
            yield from dict.fromkeys(f"{place}: {each}" for each in _problems(problem))
        else:
            yield from _file_problems(path, place, case)
            yield ReadCase(path, number, case)


def _without_repetitions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice in one object")
    return values


def _check_writable(values: Any) -> None:
    """Raise ``ValueError`` for what results, which are JSON in UTF-8, cannot have."""
    depth, level = 0, [values]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    written = json.dumps(values, ensure_ascii=False, allow_nan=False)
    if encodable(written) != written:
        raise ValueError("it has half of a character, such as \\ud83d without its second half")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _problems(problem: ValidationError) -> Iterator[str]:
    for each in problem.errors(include_url=False):
        place = [part for part in each["loc"] if part not in TYPES]
        what = each["msg"].removeprefix("Value error, ")
        match each["type"]:
            case "extra_forbidden":
                what = unknown_field(place[-1], field_names(EvalCase))
            case "union_tag_invalid":
                place, what = [*place, "type"], _unknown_type(str(each["ctx"]["tag"]))
            case "union_tag_not_found":
                place, what = [*place, "type"], f"is missing. There are: {', '.join(TYPES)}"
        field = ".".join(map(str, place))
        # What a rule of the whole case says begins with the field.
        yield f"{field}: {what}" if field else what


def _unknown_type(name: str) -> str:
    similar = get_close_matches(name, TYPES, n=1)
    advice = f"did you mean {similar[0]}?" if similar else f"there are: {', '.join(TYPES)}"
    return f"there is no check {name!r} ({advice})"


def _file_problems(path: Path, place: str, case: EvalCase) -> Iterator[str]:
    for number, turn in enumerate(case.input):
        for name in turn.files:
            if not (path.parent / name).is_file():
                yield f"{place}: input.{number}.files: there is no file {name}"


def _repeated_names(cases: Sequence[ReadCase]) -> Iterator[str]:
    first: dict[str, ReadCase] = {}
    for each in cases:
        before = first.setdefault(each.case.name, each)
        if before is not each:
            yield f"{each.place}: name: {each.case.name!r} is the name of {before.place} as well. Rename one."


def _unknown_names(each: ReadCase, known: KnownNames) -> Iterator[str]:
    case = each.case
    found: list[tuple[str, str | None]] = []
    if case.agent is not None:
        found.append(("agent", known.find_main_problem(case.agent)))
    found += [(f"tools.{name}", known.find_stub_problem(name, stub)) for name, stub in case.tools.items()]
    found += [("reach", known.find_source_problem(name)) for name in case.reach]
    for number, check in enumerate(case.checks):
        for field, name in _names_in(check):
            is_agent = field in {"agent", "by"}
            if is_agent or name not in case.tools:
                problem = known.find_agent_problem(name) if is_agent else known.find_tool_problem(name)
                found.append((f"checks.{number}.{field}", problem))
    yield from (f"{field}: {problem}" for field, problem in found if problem is not None)


def _names_in(check: Any) -> Iterator[tuple[str, str]]:
    for field in ("agent", "by", "tool", "tools"):
        value = getattr(check, field, None)
        for name in (value,) if isinstance(value, str) else value or ():
            yield field, name
