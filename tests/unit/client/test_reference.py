"""The reference of the Python client is the client's."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import baton_client.public
from baton_client import Baton
from baton_client._generated.synchronous.resource import Resource
from tests.unit.docs.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "python-client.md"


def parameters(method: Any) -> Iterator[str]:
    """The names of a method's parameters, with a ``*`` before those that are given by name only."""
    is_by_name = False
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_by_name:
            is_by_name = True
            yield "*"
        yield parameter.name


def rows(thing: Any, name: str) -> Iterator[str]:
    """The rows of the page's table: each method with its parameters and its purpose."""
    for attribute, method in inspect.getmembers(
        thing, inspect.isfunction if inspect.isclass(thing) else inspect.ismethod
    ):
        if attribute.startswith("_") or attribute in {"lines", "close"}:
            continue
        purpose = (inspect.getdoc(method) or "").partition("\n\n")[0].replace("\n", " ")
        yield f"| `{name}.{attribute}({', '.join(parameters(method))})` | {purpose} |"
    for attribute, part in sorted(vars(thing).items()):
        if isinstance(part, Resource):
            yield from rows(part, f"{name}.{attribute}")


def list_rows(title: str) -> list[str]:
    """The rows below a heading."""
    _, _, rest = PAGE.read_text().partition(f"## {title}\n")
    return [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("| `")]


def test_the_reference_has_every_method() -> None:
    with Baton("http://baton.test") as baton:
        assert list_rows("Methods") == list(rows(baton, "baton"))


def test_the_reference_has_every_error() -> None:
    errors = [
        var
        for var in vars(baton_client.public).values()
        if inspect.isclass(var) and issubclass(var, baton_client.BatonError)
    ]
    rows_expected = [
        f"| `{error.__name__}` | {(inspect.getdoc(error) or '').partition(chr(10) * 2)[0]} |" for error in errors
    ]
    assert list_rows("Errors") == [row.replace("\n", " ") for row in rows_expected]


def methods(thing: Any) -> Iterator[Any]:
    """The public methods of a client and of its resources."""
    for name, method in inspect.getmembers(thing, inspect.ismethod):
        if not name.startswith("_"):
            yield method
    for part in vars(thing).values():
        if isinstance(part, Resource):
            yield from methods(part)


def test_every_method_names_and_types_what_it_takes_and_returns() -> None:
    loose = []
    with Baton("http://baton.test") as baton:
        for method in methods(baton):
            signature = inspect.signature(method)
            if signature.return_annotation in {inspect.Signature.empty, "Any", "dict[str, Any]"}:
                loose.append(f"{method.__qualname__} -> {signature.return_annotation}")
            loose += [
                f"{method.__qualname__}({parameter})"
                for parameter in signature.parameters.values()
                if parameter.kind in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}
                or parameter.annotation in {parameter.empty, "Any"}
            ]
    # Any JSON may be sent, and the parameters of lines are those of its address.
    allowed = {
        "Baton.request(json: 'Any' = None)",
        "Resource.lines(**params: 'Any')",
        "Threads.send_event(data: 'Any' = None)",
    }
    assert [name for name in loose if name not in allowed] == []
