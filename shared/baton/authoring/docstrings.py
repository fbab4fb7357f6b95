"""The docstrings of functions: a description, and what each parameter is.

Sections in the styles of Google, Sphinx and NumPy are read by a library. A docstring may also say ``name: text`` about
a parameter at the beginning of a line or of a sentence.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

_SECTIONS = re.compile(r"^\s*(:param|:type|@param|Args:|Arguments:|Parameters:?|Params:)", re.MULTILINE)
"""The beginnings of sections about parameters."""


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring in its parts."""

    description: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Texts about parameters, by name."""


def read_docstring(function: Callable[..., Any]) -> Docstring:
    """Return the parts of a function's docstring; empty parts if it has none."""
    text = inspect.getdoc(function) or ""
    names = list(inspect.signature(function).parameters)
    if _SECTIONS.search(text):
        return _read_sections(text)
    return _read_plain(text, names)


def _read_sections(text: str) -> Docstring:
    from docstring_parser import parse  # only functions with such sections need it

    docstring = parse(text)
    parts = (docstring.short_description, docstring.long_description)
    described = {parameter.arg_name: " ".join((parameter.description or "").split()) for parameter in docstring.params}
    return Docstring("\n\n".join(part for part in parts if part), {name: it for name, it in described.items() if it})


def _read_plain(text: str, names: Collection[str]) -> Docstring:
    if not names:
        return Docstring(text)
    either = "|".join(map(re.escape, names))
    marks = list(re.finditer(rf"(?:^[ \t]*|(?<=[.!?;:])\s+)({either}):\s+", text, re.MULTILINE))
    if not marks:
        return Docstring(text)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    general, described = [text[: marks[0].start()].strip()], {}
    for mark, end in zip(marks, ends, strict=True):
        about, _, rest = text[mark.end() : end].partition("\n\n")
        described[mark[1]] = " ".join(about.split())
        general.append(rest.strip())
    return Docstring("\n\n".join(part for part in general if part), described)
