"""The templates of a demo script: Jinja in a sandbox, for texts, for arguments of tools, and for conditions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import ChainableUndefined, TemplateError, TemplateSyntaxError, Undefined, meta, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from baton_local.demo_model.quoting import find_quotes
from baton_local.demo_model.statements import to_second_person
from baton_local.demo_model.telling import acknowledge, answer_from, asks_everything, divide_facts, find_recollections
from baton_local.demo_model.words import mentions

Render = Callable[[Mapping[str, Any]], Any]

LIKENESS = "likeness"
"""The variable with the function by which the filters ``answering`` and ``recollected`` compare sentences."""

_VALUE = re.compile(r"\s*\{\{((?:(?!\}\}).)*)\}\}\s*", re.DOTALL)
_ARITHMETIC = re.compile(r"(?!.*\*\*)[\d\s.+\-*/()]{1,200}")


class TemplateProblem(Exception):
    """A template that cannot be read or rendered; the message says why."""


class _Unknown(ChainableUndefined):
    """A value that a request lacks: empty in a text, false in a condition. So are its attributes and items."""


_cached = lru_cache(maxsize=1024)
"""A cache of compiled sources: a process may read a script several times, and its templates take half a second."""


@_cached
def compile_text(source: str) -> Render:
    """Compile a text with ``{{ ... }}`` and ``{% ... %}``. Raises ``TemplateProblem``, as its result does."""
    return _guard(lambda: _env.from_string(source).render)


def compile_value(source: str) -> Render:
    """Compile as ``compile_text`` does, but a single ``{{ ... }}`` keeps its type: a list, a number, an object."""
    whole = _VALUE.fullmatch(source)
    return compile_condition(whole[1]) if whole else compile_text(source)


@_cached
def compile_condition(source: str) -> Render:
    """Compile an expression without braces. Raises as ``compile_text`` does. An unknown value is None."""
    return _guard(lambda: _env.compile_expression(source.strip()))


@_cached
def find_variables(source: str) -> frozenset[str]:
    """Return the names that a template uses and does not set. Raises ``TemplateProblem``."""
    try:
        return frozenset(meta.find_undeclared_variables(_env.parse(source)))
    except TemplateSyntaxError as error:
        raise TemplateProblem(str(error)) from None


def calculate(source: Any) -> str:
    """Return the value of a formula of numbers, brackets and ``+ - * /``; empty if ``source`` is not a valid one."""
    source = str(source)
    if not _ARITHMETIC.fullmatch(source):
        return ""
    try:
        number = _env.compile_expression(source.strip())()
        return str(number) if isinstance(number, int) else f"{number:.10g}"
    except (TemplateError, ArithmeticError, TypeError, ValueError, RecursionError):
        return ""


def capture(source: Any, pattern: str) -> dict[str, str]:
    """Return the named groups of a pattern's match in a text; empty if it does not match."""
    match = re.search(pattern, str(source), re.IGNORECASE)
    return {name: group for name, group in match.groupdict().items() if group is not None} if match else {}


@pass_context
def _answer(context: Context, earlier: Any, message: Any) -> str:
    return answer_from(earlier or [], str(message), context.get(LIKENESS))


@pass_context
def _recollect(context: Context, recalled: Any, message: Any) -> list[dict[str, Any]]:
    return find_recollections(recalled or [], str(message), context.get(LIKENESS))


def _reduce_to_words(source: Any) -> str:
    """Return the words of a text in lower case, without punctuation, for comparison."""
    return " ".join(re.findall(r"\w+", str(source).casefold()))


def _guard(compile_source: Callable[[], Callable[..., Any]]) -> Render:
    """Return the compiled function, with ``TemplateProblem`` in place of its errors. Raises ``TemplateProblem``."""
    try:
        render = compile_source()
    except TemplateError as error:
        raise TemplateProblem(str(error)) from None

    def render_guarded(variables: Mapping[str, Any]) -> Any:
        try:
            result = render(**variables)
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise TemplateProblem(f"{type(error).__name__}: {error}") from None
        return None if isinstance(result, Undefined) else result

    return render_guarded


def _make_environment() -> ImmutableSandboxedEnvironment:
    """Return the environment of all templates, with the filters and tests that scripts use."""
    env = ImmutableSandboxedEnvironment(autoescape=False, undefined=_Unknown, trim_blocks=True, lstrip_blocks=True)
    env.filters["calculated"] = calculate
    env.filters["json"] = lambda content: json.dumps(content, ensure_ascii=False)
    env.tests["saying"] = lambda content, pattern: re.search(pattern, str(content), re.IGNORECASE) is not None
    env.filters["captured"] = capture
    env.filters["core"] = _reduce_to_words
    env.filters["quotes"] = lambda passages, question: find_quotes(passages or [], str(question))
    env.tests["mentioning"] = mentions
    env.filters["acknowledged"] = lambda message, earlier=(): acknowledge(str(message), earlier or ())
    env.filters["answering"] = _answer
    env.filters["recollected"] = _recollect
    env.tests["wanting_everything"] = lambda message: asks_everything(str(message))
    env.filters["second_person"] = lambda content: to_second_person(str(content))
    env.filters["naming"] = lambda message, thing: re.sub(r"\b(?:it|them)\b", lambda _: str(thing), str(message))
    env.filters["decapitalized"] = lambda content: str(content)[:1].lower() + str(content)[1:]
    env.filters["facts"] = lambda content: divide_facts(str(content))
    env.tests["overlapping"] = lambda content, core: content in core or core in content
    env.filters["escaped"] = lambda content: re.escape(str(content))
    return env


_env = _make_environment()
