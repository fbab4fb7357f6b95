"""Plays a demo script: finds the rule that fits a request, and makes its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from baton_local.demo_model.script import MESSAGE, RESULT, CompiledRule, Script, ScriptError, compile_pattern
from baton_local.demo_model.situation import Situation
from baton_local.demo_model.telling import Likeness
from baton_local.demo_model.templates import LIKENESS, TemplateProblem

MAX_READ = 4_000
"""The characters of a message in which patterns are searched. Patterns are slow on long texts."""
Variables = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that was offered."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; its text may be empty before and after tool calls."""

    text: str
    calls: tuple[Call, ...] = ()


class Engine:
    """The engine of the demo model, which answers requests by a script. It keeps nothing between two requests."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def reply(self, situation: Situation, likeness: Likeness | None = None) -> Reply:
        """Return the answer of the first rule that fits, empty if none does. Raises ``ScriptError`` if a rule fails.

        ``likeness`` compares questions with statements of users; without it, their words are compared.
        """
        scene = RESULT if situation.last_results else MESSAGE
        variables = {**self._script.values, **situation.variables, LIKENESS: likeness}
        reply = self._play(scene, situation, variables)
        return reply or Reply("")

    def has_rule_for(self, task: str) -> bool:
        """Return whether the script has a rule for a task of Baton, such as ``handoff_summary``."""
        return any(rule.rule.task == task for rules in self._script.scenes.values() for rule in rules)

    def _play(self, scene: str, situation: Situation, variables: Variables) -> Reply | None:
        """Return the answer of the first rule of a scene that fits; None if none does. Raises ``ScriptError``."""
        for rule in self._script.scenes.get(scene, ()):
            try:
                reply = self._play_rule(rule, situation, variables)
            except (TemplateProblem, re.error) as problem:
                raise ScriptError(f"{rule.location}: {problem}") from None
            if reply is not None:
                return reply
        return None

    def _play_rule(self, rule: CompiledRule, situation: Situation, variables: Variables) -> Reply | None:
        """Return the rule's answer; None if the rule does not fit, or its calls or its next scene yield nothing."""
        groups = _match_rule(rule, situation, variables)
        if groups is None:
            return None
        variables = {**variables, **groups}
        calls = tuple(_make_calls(rule, situation, variables))
        if rule.calls and not calls:
            return None
        rest = Reply("")
        if rule.rule.next is not None:
            following = self._play(rule.rule.next, situation, variables)
            if following is None:
                return None
            rest = following
        text = _tidy_paragraphs(rule.say(variables) if rule.say else "")
        return Reply("\n\n".join(filter(None, (text, rest.text))), calls + rest.calls)


def _match_rule(rule: CompiledRule, situation: Situation, variables: Variables) -> dict[str, str] | None:
    """Return the named groups that the rule's patterns matched; None if a condition does not hold."""
    conditions = rule.rule
    if conditions.agent and variables["agent"] not in conditions.agent:
        return None
    if (conditions.task or "") != variables["task"]:
        return None
    if conditions.state and variables["workflow"].get("state") not in conditions.state:
        return None
    answered = [result["tool"] for result in situation.last_results]
    if conditions.after and not any(fnmatchcase(tool, name) for tool in answered for name in conditions.after):
        return None
    groups: dict[str, str] = {}
    if not _search_texts(rule.says, [situation.message], groups):
        return None
    if not _search_texts(rule.result, [result["text"] for result in situation.last_results], groups):
        return None
    if rule.earlier is not None:
        pattern = compile_pattern(rule.earlier({**variables, **groups}))
        if not _search_texts(pattern, situation.earlier, groups):
            return None
    if rule.condition is not None and not rule.condition({**variables, **groups}):
        return None
    return groups


def _search_texts(pattern: re.Pattern[str] | None, texts: Any, groups: dict[str, str]) -> bool:
    """Return whether a text matches, and add the named groups of the first match to ``groups``.

    Without a pattern, return true.
    """
    if pattern is None:
        return True
    for text in texts:
        if match := pattern.search(text[:MAX_READ]):
            groups.update({name: value for name, value in match.groupdict().items() if value is not None})
            return True
    return False


def _make_calls(rule: CompiledRule, situation: Situation, variables: Variables) -> Iterator[Call]:
    """Yield the rule's calls of offered tools, except calls that were made since the user spoke.

    Raises ``TemplateProblem`` for arguments that JSON does not support, or that are not a mapping.
    """
    for name, arguments in rule.calls:
        call = Call(name(variables).strip(), arguments(variables))
        if call.name not in situation.tools:
            continue
        try:
            copied = json.loads(json.dumps(call.arguments))
        except (TypeError, ValueError) as error:
            raise TemplateProblem(f"call: {error}") from None
        if not isinstance(copied, dict):
            raise TemplateProblem(f"the arguments of {call.name} are not a mapping")
        if not situation.was_called(call.name, copied):
            yield Call(call.name, copied)


def _tidy_paragraphs(text: str) -> str:
    """Return a text without spaces at its ends, and with at most one empty line between paragraphs."""
    return re.sub(r"\n{3,}", "\n\n", text.strip())
