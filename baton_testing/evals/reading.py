"""Read data sets. Each problem is reported with its position and its remedy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from baton.domain.definition import describe_unknown_field, in_plain_words, list_field_names, suggest_name
from baton.domain.json_values import refuse_constant
from baton.domain.text import replace_surrogates
from baton_testing.errors import CannotRun
from baton_testing.evals.checks import TYPES, AnyCheck
from baton_testing.evals.dataset import EvalCase
from baton_testing.known_names import KnownNames

MAX_LINE = 1024 * 1024
"""The most bytes of a line."""
MAX_CASES = 2_000
"""The most cases of a run."""
MAX_DEPTH = 64
"""The most levels of nested objects and lists."""
MAX_PROBLEMS = 50
"""The most problems that are listed."""
SUFFIX = ".jsonl"
ONE_A_LINE = (
    f'A data set is a file *{SUFFIX} with one case a line, such as {{"name": "A greeting", "input": "Hello", "checks": '
    '[{"type": "contains", "text": "Hello"}]}. `baton eval collect` makes one of stored conversations.'
)
"""The advice if no case is found."""
_CHECK: TypeAdapter[Any] = TypeAdapter(AnyCheck)


@dataclass(frozen=True, slots=True)
class ReadCase:
    """A case, and its position."""

    path: Path
    line: int
    case: EvalCase

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a data set."""

    path: Path
    line: int
    """The line, from 1; 0 for a problem of the whole file."""
    text: str
    rest: ReadCase | None = None
    """The valid parts of the case that has the problem."""
    column: int = 0
    """The column, from 1; 0 for a problem of the whole line."""

    def __str__(self) -> str:
        return ":".join(
            [str(self.path), *(str(number) for number in (self.line, self.column) if number), f" {self.text}"]
        )


Check = Callable[[Sequence[ReadCase]], Iterable[Problem]]
"""Yields the problems that cases have with the evaluated agents. Raises ``CannotRun``."""


def read_datasets(paths: Sequence[Path], *, tags: Sequence[str] = (), check: Check | None = None) -> list[ReadCase]:
    """Return the cases of the files in their order. If there are ``tags``, return the cases with one of them.

    Raises ``CannotRun`` for more than ``MAX_CASES`` cases or none, and with the problems of all files: at most
    ``MAX_PROBLEMS``, those that ``check`` finds in valid parts included. Without problems, ``check`` is not called.
    """
    cases: list[ReadCase] = []
    problems: list[Problem] = []
    wanted_tags = set(tags)
    chosen_count = 0
    files = _find_files(paths)
    for path in files:
        for part in _read(path):
            if isinstance(part, Problem):
                problems.append(part)
            else:
                cases.append(part)
                chosen_count += not wanted_tags or not wanted_tags.isdisjoint(part.case.tags)
            if chosen_count > MAX_CASES:
                raise CannotRun(
                    f"{path}: a run has at most {MAX_CASES} cases. Choose some by --tag, or by fewer files."
                )
            if len(problems) >= MAX_PROBLEMS:
                raise CannotRun("\n".join([*map(str, problems), "There may be more problems."]))
    problems += _find_repeated_names(cases)
    if problems:
        read = [*cases, *{problem.rest.place: problem.rest for problem in problems if problem.rest}.values()]
        raise CannotRun("\n".join(_list_all_problems(files, problems, read, check)))
    chosen = [case for case in cases if not wanted_tags or not wanted_tags.isdisjoint(case.case.tags)]
    if not chosen:
        names = ", ".join(map(str, paths))
        if not cases:
            raise CannotRun(f"{names}: no cases. {ONE_A_LINE}")
        available = ", ".join(sorted({tag for case in cases for tag in case.case.tags})) or "none"
        raise CannotRun(f"{names}: no case has one of these tags. Available: {available}")
    return chosen


def _list_all_problems(
    files: Sequence[Path], problems: Sequence[Problem], cases: Sequence[ReadCase], check: Check | None
) -> list[str]:
    """Return the problems and those that ``check`` finds, in the order of files and lines."""
    try:
        problems, more = [*problems, *(check(cases) if check is not None else ())], ""
    except CannotRun as problem:
        more = str(problem)
    ordered = sorted(problems, key=lambda problem: (files.index(problem.path), problem.line))
    return [*map(str, ordered[:MAX_PROBLEMS]), *more.splitlines()]


def find_unknown_names(cases: Sequence[ReadCase], names: KnownNames) -> Iterator[Problem]:
    """Yield a problem for each agent and tool that a case names but that does not exist."""
    for case in cases:
        yield from (Problem(case.path, case.line, text) for text in _list_unknown_names(case, names))


def check_names(cases: Sequence[ReadCase], names: KnownNames) -> None:
    """Raise ``CannotRun`` with the agents and tools that cases name but that do not exist."""
    problems = list(map(str, find_unknown_names(cases, names)))
    if problems:
        raise CannotRun("\n".join(problems[:MAX_PROBLEMS]))


def _find_files(paths: Sequence[Path]) -> list[Path]:
    results: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.suffix == SUFFIX)
            if not inside:
                raise CannotRun(f"{path}: no data sets (*{SUFFIX}) here. {ONE_A_LINE}")
            results += inside
        elif path.is_file():
            results.append(path)
        else:
            raise CannotRun(f"{path}: there is no such file or folder. {ONE_A_LINE}")
    return list(dict.fromkeys(results))


def _read(path: Path) -> Iterator[ReadCase | Problem]:
    """Yield each case of a file, or the problems of its line."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    text = f"the line has more than {MAX_LINE} bytes. Put long content into `files`."
                    yield Problem(path, number, text)
                    return
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    yield from _parse_case(path, number, line)
    except OSError as problem:
        yield Problem(path, 0, f"it cannot be read: {problem.strerror}")


def _parse_case(path: Path, number: int, line: bytes) -> Iterator[ReadCase | Problem]:
    try:
        values = _parse_values(line)
    except ValueError as problem:
        yield Problem(path, number, str(problem.args[0]), column=problem.args[1] if len(problem.args) > 1 else 0)
        return
    try:
        case = EvalCase.model_validate(values)
    except ValidationError as problem:
        rest = ReadCase(path, number, _keep_sound_parts(values))
        yield from (Problem(path, number, text, rest) for text in dict.fromkeys(_list_problems(problem)))
    else:
        yield from (Problem(path, number, text) for text in _find_file_problems(path.parent, case))
        yield ReadCase(path, number, case)


def _parse_values(line: bytes) -> dict[str, Any]:
    """Return the object in a line. Raises ``ValueError`` with the problem and, if known, the column."""
    try:
        values = json.loads(line.decode(), object_pairs_hook=_refuse_repetitions, parse_constant=refuse_constant)
        _check_writable(values)
    except UnicodeDecodeError as problem:
        raise ValueError(f"it is not UTF-8 (byte {problem.start + 1})") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"it is no JSON: {problem.msg}. Each line is one whole object.", problem.colno) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(values, dict):
        raise ValueError('a case is a JSON object, such as {"name": ..., "input": ..., "checks": [...]}')
    return values


def _keep_sound_parts(values: Mapping[str, Any]) -> EvalCase:
    """Return the parts of an invalid case whose names can still be checked."""
    agent, checks = values.get("agent"), values.get("checks")
    results: list[Any] = []
    # Without valid stubs it is unknown which tools exist.
    for check in checks if isinstance(checks, list) and "tools" not in values else ():
        try:
            results.append(_CHECK.validate_python(check))
        except ValidationError:
            results.append(None)  # keeps the indices of the others
    return EvalCase.model_construct(
        name="", input=(), agent=agent if isinstance(agent, str) else None, checks=tuple(results)
    )


def _refuse_repetitions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice in one object")
    return values


def _check_writable(values: Any) -> None:
    """Raise ``ValueError`` if values cannot be written to results, which are JSON in UTF-8."""
    depth, level = 0, [values]
    while level := [value for value in level if isinstance(value, dict | list)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        level = [inner for value in level for inner in (value.values() if isinstance(value, dict) else value)]
    written = json.dumps(values, ensure_ascii=False, allow_nan=False)
    if replace_surrogates(written) != written:
        raise ValueError("it has half of a character, such as \\ud83d without its second half")


def _list_problems(problem: ValidationError) -> Iterator[str]:
    for error in problem.errors(include_url=False):
        location = list(error["loc"])
        if location[:1] == ["checks"] and len(location) > 2 and location[2] in TYPES:
            del location[2]  # the tag of the union, which is no part of the file
        what = in_plain_words(error)
        match error["type"]:
            case "extra_forbidden":
                what = describe_unknown_field(location[-1], list_field_names(EvalCase))
            case "union_tag_invalid":
                location, what = [*location, "type"], _describe_unknown_type(str(error["ctx"]["tag"]))
            case "union_tag_not_found":
                location, what = [*location, "type"], f"is missing. Available: {', '.join(TYPES)}"
        field = ".".join(map(str, location))
        # The message of a rule of the whole case begins with the field already.
        yield f"{field}: {what}" if field else what


def _describe_unknown_type(name: str) -> str:
    return f"there is no check {name!r} ({suggest_name(name, TYPES)})"


def _find_file_problems(folder: Path, case: EvalCase) -> Iterator[str]:
    for number, turn in enumerate(case.input):
        for name in turn.files:
            location = f"input.{number}.files"
            if not _is_inside(folder, name):
                yield f"{location}: {name} is outside of the data set's folder. Copy it there, and name it by its path"
            elif not (folder / name).is_file():
                yield f"{location}: there is no file {name}"


def _is_inside(folder: Path, name: str) -> bool:
    """Return whether a path is relative and inside the folder after links are resolved."""
    try:
        return not Path(name).is_absolute() and (folder / name).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):  # such as a loop of links, or a zero byte
        return False


def _find_repeated_names(cases: Sequence[ReadCase]) -> Iterator[Problem]:
    first: dict[str, ReadCase] = {}
    for case in cases:
        before = first.setdefault(case.case.name, case)
        if before is not case:
            text = f"name: {case.case.name!r} is the name of {before.place} as well. Rename one."
            yield Problem(case.path, case.line, text)


def _list_unknown_names(read_case: ReadCase, stored: KnownNames) -> Iterator[str]:
    case = read_case.case
    results: list[tuple[str, str | None]] = []
    if case.agent is not None:
        results.append(("agent", stored.find_main_problem(case.agent)))
    results += [(f"tools.{name}", stored.find_stub_problem(name, stub)) for name, stub in case.tools.items()]
    for number, action in enumerate(case.input):
        results += [(f"input.{number}.{field}", problem) for field, problem in stored.find_desk_problems(action)]
    results += [("reach", stored.find_source_problem(name)) for name in case.reach]
    for number, check in enumerate(case.checks):
        for field, name in _list_names(check):
            is_agent = field in {"agent", "by"}
            if is_agent or name not in case.tools:
                problem = stored.find_agent_problem(name) if is_agent else stored.find_tool_problem(name)
                results.append((f"checks.{number}.{field}", problem))
    yield from (f"{field}: {problem}" for field, problem in results if problem is not None)


def _list_names(check: Any) -> Iterator[tuple[str, str]]:
    for field in ("agent", "by", "tool", "tools"):
        value = getattr(check, field, None)
        for name in (value,) if isinstance(value, str) else value or ():
            yield field, name
