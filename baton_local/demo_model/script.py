"""A demo script: a YAML file of scenes with rules, read once and checked whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from baton.adapters.agents.yaml_document import YamlDocument, YamlFileError
from baton.domain.definition import in_plain_words
from baton.domain.yaml_text import Place
from baton_local.demo_model.templates import (
    Render,
    TemplateProblem,
    compile_condition,
    compile_text,
    compile_value,
    find_variables,
)

MESSAGE, RESULT = "message", "result"
"""The scenes in which a rule is looked up first: when the user has spoken, and when tools have answered."""
VARIABLES = frozenset(
    {"agent", "task", "data", "skill", "unfinished", "workflow", "recalled", "people", "notes", "said", "earlier"}
    | {"answers", "before", "attachments", "results", "tools"}
)
"""Variables of templates besides the script's values and the matches of patterns."""

Names = Annotated[tuple[str, ...], BeforeValidator(lambda names: (names,) if isinstance(names, str) else names)]


class ScriptError(Exception):
    """A script that cannot be used; the message lists the problems as ``file:line: field: what is wrong``."""


class Rule(BaseModel):
    """An answer or call, and its conditions, all of which have to hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: Names = ()
    """Ids of agents."""
    task: str | None = None
    """Baton's own task for the model, such as ``handoff_summary``. A rule without a task is for agents."""
    state: Names = ()
    """States of the agent's workflow."""
    says: str | None = None
    """A regular expression that is found in the user's message. Its named groups are variables of the templates."""
    earlier: str | None = None
    """A regular expression that is found in an earlier message of the user; the newest match counts."""
    after: Names = ()
    """Tools, one of which has just answered. ``ask_*`` stands for all names that begin with ``ask_``."""
    result: str | None = None
    """A regular expression that is found in a result that a tool has just returned."""
    if_: str | None = Field(default=None, alias="if")
    """Any other condition, as an expression."""
    say: str | None = None
    """The text of the answer, as a template."""
    call: dict[str, dict[str, Any] | str] = Field(default_factory=dict)
    """Tools to call in parallel, with templates of their arguments. Tools that are not offered are left out."""
    next: str | None = None
    """The scene that continues the answer, with the same variables."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    values: dict[str, Any] = Field(default_factory=dict)
    """Values that templates and patterns may use by name."""
    scenes: dict[str, list[Rule]]


@dataclass(frozen=True)
class CompiledRule:
    """A rule that is ready to be played."""

    rule: Rule
    location: str
    """``file:line: field``."""
    says: re.Pattern[str] | None = None
    earlier: Render | None = None
    """The template of the pattern, which may use the groups of ``says``."""
    result: re.Pattern[str] | None = None
    condition: Render | None = None
    say: Render | None = None
    calls: tuple[tuple[Render, Render], ...] = ()
    """Name and arguments."""


@dataclass(frozen=True)
class Script:
    """A script that was checked."""

    scenes: Mapping[str, Sequence[CompiledRule]]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Script:
        """Read a file. Raises ``ScriptError`` with all its problems."""
        try:
            document = YamlDocument.read(path)
        except YamlFileError as error:
            raise ScriptError(str(error)) from None
        try:
            parsed = _Document.model_validate(document.values)
        except ValidationError as error:
            problems = [document.problem(detail["loc"], in_plain_words(detail)) for detail in error.errors()]
            raise ScriptError("\n".join(problems)) from None
        compiler = _Compiler(document, parsed)
        scenes = {name: compiler.compile_scene(name, rules) for name, rules in parsed.scenes.items()}
        problems = [*compiler.problems, *compiler.find_scene_problems()]
        if problems:
            raise ScriptError("\n".join(problems))
        return cls(scenes, parsed.values)


class _Compiler:
    """A compiler of rules that collects their problems."""

    def __init__(self, document: YamlDocument, content: _Document) -> None:
        self.problems: list[str] = []
        self._document = document
        self._content = content
        self._names = VARIABLES | content.values.keys()
        # A scene may be continued by any other, where the groups of its patterns are variables too.
        patterns = [value for value in content.values.values() if isinstance(value, str)]
        for rules in content.scenes.values():
            patterns += [
                pattern for rule in rules for pattern in (rule.says, rule.earlier, rule.result) if pattern is not None
            ]
        self._names |= {name for pattern in patterns for name in re.findall(r"\(\?P<(\w+)>", pattern)}

    def compile_scene(self, name: str, rules: Sequence[Rule]) -> list[CompiledRule]:
        """Return the rules, ready to be played, and add their mistakes to ``problems``."""
        return [self._compile_rule(["scenes", name, number], rule) for number, rule in enumerate(rules)]

    def find_scene_problems(self) -> Iterator[str]:
        """Yield the problems of scenes: missing scenes, and endless loops."""
        scenes = self._content.scenes
        if MESSAGE not in scenes:
            yield self._document.problem(["scenes"], f"there is no scene {MESSAGE!r}, where every turn begins")
        for name, rules in scenes.items():
            for number, rule in enumerate(rules):
                if rule.next is not None and rule.next not in scenes:
                    yield self._document.problem(["scenes", name, number, "next"], f"there is no scene {rule.next!r}")
            if name in self._find_reachable(name):
                yield self._document.problem(["scenes", name], "the scene leads back to itself")

    def _find_reachable(self, name: str) -> set[str]:
        """Return the scenes that the rules of a scene lead to, directly or through other scenes."""
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            for rule in self._content.scenes.get(waiting.pop(), ()):
                if rule.next is not None and rule.next not in reached:
                    reached.add(rule.next)
                    waiting.append(rule.next)
        return reached

    def _compile_rule(self, path: Sequence[str | int], rule: Rule) -> CompiledRule:
        """Return a rule with its patterns and templates compiled, and add its mistakes to ``problems``."""
        if rule.say is None and not rule.call and rule.next is None:
            self.problems.append(self._document.problem(path, "the rule does nothing: give it say, call or next"))
        calls = [
            (
                self._compile_template([*path, "call", name], name),
                self._compile_arguments([*path, "call", name], arguments),
            )
            for name, arguments in rule.call.items()
        ]
        return CompiledRule(
            rule,
            self._document.where(path),
            says=self._compile_pattern([*path, "says"], rule.says),
            earlier=self._compile_template([*path, "earlier"], rule.earlier) if rule.earlier is not None else None,
            result=self._compile_pattern([*path, "result"], rule.result),
            condition=self._compile_condition([*path, "if"], rule.if_) if rule.if_ is not None else None,
            say=self._compile_template([*path, "say"], rule.say) if rule.say is not None else None,
            calls=tuple(calls),
        )

    def _compile_pattern(self, path: Place, source: str | None) -> re.Pattern[str] | None:
        """Return a regular expression that may use the script's values; None if there is none, or a wrong one."""
        if source is None:
            return None
        try:
            return compile_pattern(compile_text(source)(self._content.values))
        except (TemplateProblem, re.error) as problem:
            self.problems.append(self._document.problem(path, f"{problem}"))
            return None

    def _compile_template(self, path: Place, source: str) -> Render:
        self._check_variables(path, source)
        return self._compile(path, compile_text, source)

    def _compile_condition(self, path: Place, source: str) -> Render:
        self._check_variables(path, f"{{{{ {source} }}}}")
        return self._compile(path, compile_condition, source)

    def _compile(self, path: Place, make: Any, source: str) -> Render:
        """Return the result of ``make``. Add a mistake to ``problems``, and return a template without a value then."""
        try:
            render: Render = make(source)
            return render
        except TemplateProblem as problem:
            self.problems.append(self._document.problem(path, str(problem)))
            return lambda variables: None

    def _check_variables(self, path: Place, source: str) -> None:
        """Add to ``problems`` the variables of a template that do not exist."""
        try:
            unknown = find_variables(source) - self._names
        except TemplateProblem:
            return  # compiling it reports the mistake
        if unknown:
            self.problems.append(self._document.problem(path, f"there is no variable {', '.join(sorted(unknown))}"))

    def _compile_arguments(self, path: Place, source: Any) -> Render:
        """Return the template of a value, whose texts may be in nested lists and mappings."""
        match source:
            case str():
                self._check_variables(path, source)
                return self._compile(path, compile_value, source)
            case dict():
                fields = {name: self._compile_arguments([*path, name], field) for name, field in source.items()}
                return lambda variables: {name: field(variables) for name, field in fields.items()}
            case list():
                items = [self._compile_arguments([*path, number], item) for number, item in enumerate(source)]
                return lambda variables: [item(variables) for item in items]
        return lambda variables: source


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern of a rule, which ignores case. Raises ``re.error``."""
    return re.compile(pattern, re.IGNORECASE)
