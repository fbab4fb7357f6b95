"""The reference page about agents in Python, made of docstrings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from docstring_parser import parse

import baton
from baton.authoring.agent_hooks import HookDecorator
from baton_local.root import ROOT

PAGE = ROOT / "docs" / "reference" / "agents-python.md"
HEAD = """\
# Agents in Python

The names of the package `baton`, for authors of [agents in Python](../how-to/write-agents-in-python.md). Meanings,
defaults and limits of fields that are not stated here are those of [files in YAML](agents-yaml.md). A `WrongArgument`
is a `ValueError`, to which the import of the agents adds file and line. The page is written by
`python -m baton_local.generation` from docstrings.
"""
FUNCTIONS = (
    "tool",
    "resource",
    "now",
    "Handoff",
    "Workflow",
    "Completion",
    "State",
    "Transition",
    "Condition",
    "HttpTool",
    "OpenApiTool",
    "McpServer",
    "Guardrail",
)
GROUPS = ("Model", "Memory", "Learning", "Timeouts", "Limits", "Remote")
DESCRIBED = ("Replace", "Refuse", "HandOver", "Tool", "ToolFailed", "UnusableDefinition")
"""Verdicts, errors and types whose docstrings are the whole description."""
_NO_ARGUMENTS = inspect.Signature()
CONTEXTS = ("TurnContext", "CallContext")
INTERNAL_FIELDS = ("scope", "report", "keep")
"""Fields of contexts that users reach by properties and methods."""


def make_page() -> str:
    """Return the page."""
    return "\n".join(
        [
            HEAD,
            *_describe_class(baton.Agent),
            *_describe("## `Desk`", baton.Desk, inspect.signature(baton.Desk.__init__)),
            *(line for name in FUNCTIONS for line in _describe_function(name)),
            *_describe("## Arguments of hooks", HookDecorator.__call__, inspect.signature(HookDecorator.__call__)),
            *(line for name in DESCRIBED for line in _describe(f"## `{name}`", getattr(baton, name), _NO_ARGUMENTS)),
            *_describe_result(),
            *_describe_context(baton.RunContext),
            *_describe_groups(),
        ]
    )


def _describe_class(kind: type[Any]) -> Iterator[str]:
    """Yield the sections of a class, its methods and its decorators of hooks."""
    yield from _describe(f"## `{kind.__name__}`", kind, inspect.signature(kind.__init__))
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            yield from _describe(f"### `{kind.__name__}.{name}`", method, inspect.signature(method))
    for name, member in inspect.getmembers(kind, lambda member: isinstance(member, property)):
        if not name.startswith("_") and inspect.signature(member.fget).return_annotation == HookDecorator.__name__:
            yield from _describe(f"### `{kind.__name__}.{name}`", member, inspect.signature(HookDecorator.__call__))


def _describe_context(kind: type[Any]) -> Iterator[str]:
    """Yield the sections of a context, its properties and its methods."""
    yield from _describe(f"## `{kind.__name__}`", kind, _NO_ARGUMENTS)
    for name, member in vars(kind).items():
        if name.startswith("_") or not (isinstance(member, property) or inspect.isfunction(member)):
            continue
        signature = inspect.signature(member) if inspect.isfunction(member) else _NO_ARGUMENTS
        yield from _describe(f"### `{kind.__name__}.{name}`", member, signature)


def _describe_result() -> Iterator[str]:
    yield from _describe("## `ToolResult`", baton.ToolResult, _NO_ARGUMENTS)
    yield from ("| attribute | meaning |", "| --- | --- |")
    yield from (f"| `{attribute}` | {text} |" for attribute, text in _read_fields(baton.ToolResult))
    yield ""


def _describe_function(name: str) -> Iterator[str]:
    function = getattr(baton, name)
    yield from _describe(f"## `{name}`", function, inspect.signature(function))


def _describe(title: str, documented: Callable[..., Any] | property, signature: inspect.Signature) -> Iterator[str]:
    """Yield the lines of a section: the title, the text of the docstring, and a table of its arguments."""
    docstring = parse(inspect.getdoc(documented) or "")
    yield from (title, "")
    for text in (docstring.short_description, docstring.long_description):
        if text:
            yield from (_to_line(text), "")
    if docstring.params:
        yield from ("| argument | default | meaning |", "| --- | --- | --- |")
        for parameter in docstring.params:
            name, meaning = parameter.arg_name, _to_line(parameter.description or "")
            yield f"| `{name}` | {_format_default(signature, name)} | {meaning} |"
        yield ""
    if docstring.returns and docstring.returns.description:
        yield from (f"Returns: {_to_line(docstring.returns.description)}", "")
    for error in docstring.raises:
        yield from (f"Raises `{error.type_name}`: {_to_line(error.description or '')}", "")


def _format_default(signature: inspect.Signature, name: str) -> str:
    """Return an argument's default as code, "required" without one, an empty text for None, () and an unset default."""
    default = signature.parameters[name].default
    if default is inspect.Parameter.empty:
        return "required"
    if default in (None, ()) or type(default).__name__ == "_Unset":
        return ""
    return f"`{getattr(default, 'value', default)!r}`".replace("'", '"')


def _describe_groups() -> Iterator[str]:
    """Yield the sections about groups of settings and about contexts."""
    yield from ("## Groups of settings", "", "Each class takes the fields of its group in YAML as arguments.", "")
    yield from ("| name | fields |", "| --- | --- |")
    for name in GROUPS:
        fields = ", ".join(f"`{field}`" for field in getattr(baton, name).model_fields)
        yield f"| `{name}` | {fields} |"
    yield ""
    yield from (
        "## Contexts",
        "",
        "A `CallContext` and a [`RunContext`](#runcontext) have the attributes of a `TurnContext` too.",
        "",
    )
    yield from ("| class | attribute | meaning |", "| --- | --- | --- |")
    for name in CONTEXTS:
        kind = getattr(baton, name)
        for attribute, text in (*_read_fields(kind), *_read_attributes(kind)):
            yield f"| `{name}` | `{attribute}` | {text} |"
    yield ""


def _read_fields(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields of a dataclass with the docstrings below them."""
    definition = next(node for node in ast.walk(ast.parse(inspect.getsource(kind))) if isinstance(node, ast.ClassDef))
    for statement, follower in pairwise(definition.body):
        match statement, follower:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                if name not in INTERNAL_FIELDS:
                    yield name, _to_line(text)


def _read_attributes(kind: type[Any]) -> Iterator[tuple[str, str]]:
    for name, member in vars(kind).items():
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
            yield name, _to_line(inspect.getdoc(member) or "")


def _to_line(text: str) -> str:
    return " ".join(text.replace("``", "`").replace("|", "\\|").split())


def write() -> None:
    """Write the page to ``PAGE``."""
    PAGE.write_text(make_page(), encoding="utf-8")
