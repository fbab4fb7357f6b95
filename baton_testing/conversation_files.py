"""Find and read files of conversation tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from baton.adapters.agents.yaml_document import YamlDocument, YamlFileError
from baton.domain.definition import describe_unknown_field, in_plain_words, list_field_names
from baton.domain.yaml_text import Place
from baton_testing.conversation_test import ConversationFile, ConversationTest, Expectation, ScriptedAnswer
from baton_testing.errors import CannotRun
from baton_testing.known_names import KnownNames

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A parsed file, with the positions of its parts."""

    path: Path
    content: ConversationFile
    _document: YamlDocument

    @classmethod
    def of(cls, path: Path, content: ConversationFile) -> ReadFile:
        """Return tests without a file, as if they were in the file ``path``."""
        return cls(path, content, YamlDocument(path, {}, None))

    def locate(self, location: Place) -> str:
        """Return ``file:line`` of a part."""
        return f"{self.path}:{self.find_line(location)}"

    def find_line(self, location: Place) -> int:
        """Return the line of a part, from 1."""
        return self._document.line(location)

    def list_problems(self, known_names: KnownNames) -> Iterator[str]:
        """Yield a line for each name or file that does not exist, and each repeated name of a conversation."""
        content = self.content
        for name, stub in content.tools.items():
            yield from self._report_at(("tools", name), known_names.find_stub_problem(name, stub))
        for name in content.reach:
            yield from self._report_at(("reach",), known_names.find_source_problem(name))
        if content.script is not None and not (self.path.parent / content.script).is_file():
            yield self._document.problem(("script",), f"there is no file {content.script}")
        names: set[str] = set()
        for number, test in enumerate(content.conversations):
            location: Place = ("conversations", number)
            if test.name in names:
                yield self._document.problem((*location, "name"), f"two conversations are named {test.name!r}")
            names.add(test.name)
            yield from self._find_problems(test, location, known_names)

    def _find_problems(self, test: ConversationTest, location: Place, known_names: KnownNames) -> Iterator[str]:
        stubbed = {*self.content.tools, *test.tools}
        for name, stub in test.tools.items():
            yield from self._report_at((*location, "tools", name), known_names.find_stub_problem(name, stub))
        if test.agent is not None:
            yield from self._report_at((*location, "agent"), known_names.find_main_problem(test.agent))
        for index, expectation in enumerate(test.expect):
            yield from self._check_names(expectation, (*location, "expect", index), known_names, stubbed)
        for index, answer in enumerate(test.answers):
            yield from self._check_agent(answer, (*location, "answers", index), known_names)
        for number, step in enumerate(test.steps):
            at = (*location, "steps", number)
            for index, expectation in enumerate(step.expect):
                yield from self._check_names(expectation, (*at, "expect", index), known_names, stubbed)
            for index, answer in enumerate(step.answers):
                yield from self._check_agent(answer, (*at, "answers", index), known_names)
            for index, message in enumerate(step.meanwhile):
                if message.during is not None and message.during not in stubbed:
                    problem = known_names.find_tool_problem(message.during)
                    yield from self._report_at((*at, "meanwhile", index, "during"), problem)
            for field, problem in known_names.find_desk_problems(step):
                yield self._document.problem((*at, *field.split(".")), problem)
            for index, name in enumerate(step.files):
                if not (self.path.parent / name).is_file():
                    yield self._document.problem((*at, "files", index), f"there is no file {name}")

    def _check_names(
        self, expectation: Expectation, location: Place, known_names: KnownNames, stubbed: set[str]
    ) -> Iterator[str]:
        agents: dict[str, Sequence[str | None]] = {
            "handoff": (expectation.handoff,),
            "by": (expectation.by,),
            "answered_by": (expectation.answered_by,),
        }
        agents |= {"consulted": expectation.consulted, "not_consulted": expectation.not_consulted}
        for field, names in agents.items():
            for name in names:
                if name is not None:
                    yield from self._report_at((*location, field), known_names.find_agent_problem(name))
        tools: dict[str, Sequence[str | None]] = {
            "tool": (expectation.tool,),
            "approval": (expectation.approval,),
            "no_tool": expectation.no_tool,
        }
        for field, names in tools.items():
            for name in names:
                if name is not None and name not in stubbed:
                    yield from self._report_at((*location, field), known_names.find_tool_problem(name))
        if expectation.workflow is not None:
            yield from self._report_at((*location, "workflow"), known_names.find_state_problem(expectation.workflow))

    def _check_agent(self, answer: ScriptedAnswer, location: Place, known_names: KnownNames) -> Iterator[str]:
        if answer.agent is not None:
            yield from self._report_at((*location, "agent"), known_names.find_agent_problem(answer.agent))

    def _report_at(self, location: Place, problem: str | None) -> Iterator[str]:
        if problem is not None:
            yield self._document.problem(location, problem)


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files among ``paths``, and the test files directly in the folders.

    Raises ``CannotRun`` if a path does not exist, or there is no file.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
        elif path.is_file():
            files.append(path)
        else:
            raise CannotRun(
                f"{path}: there is no such file or folder. Tests are YAML files, by default those in tests/."
            )
    if not files:
        named = ", ".join(map(str, paths))
        raise CannotRun(f"{named}: no tests (*.yaml) here. `baton test --from THREAD` makes one of a conversation.")
    return list(dict.fromkeys(files))


def read_file(path: Path) -> ReadFile:
    """Read one file. Raises ``CannotRun`` with all its problems."""
    try:
        document = YamlDocument.read(path)
    except YamlFileError as problem:
        raise CannotRun(str(problem)) from None
    try:
        content = ConversationFile.model_validate(document.values)
    except ValidationError as problem:
        raise CannotRun("\n".join(dict.fromkeys(_list_problems(document, problem)))) from None
    return ReadFile(path, content, document)


def _list_problems(document: YamlDocument, problem: ValidationError) -> Iterator[str]:
    errors = problem.errors()
    for error in errors:
        location = error["loc"]
        if error["type"] == "too_short" and any(len(other["loc"]) > len(location) for other in errors):
            continue  # the list is too short because its items cannot be read
        is_unknown = error["type"] == "extra_forbidden"
        what = (
            describe_unknown_field(location[-1], list_field_names(ConversationFile))
            if is_unknown
            else in_plain_words(error)
        )
        yield document.problem(location, what)


def read_files(paths: Sequence[Path], known_names: KnownNames) -> list[ReadFile]:
    """Read files and check all names in them. Raises ``CannotRun`` with the problems of all files."""
    files: list[ReadFile] = []
    problems: list[str] = []
    for path in paths:
        try:
            files.append(read_file(path))
        except CannotRun as problem:
            problems.append(str(problem))
        else:
            problems += files[-1].list_problems(known_names)
    if problems:
        raise CannotRun("\n".join(problems))
    return files
