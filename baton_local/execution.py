"""Give each function of this process its deployed variables and role."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass

from baton.composition.startup.environment import current
from baton_local.environment import list_local_names
from baton_local.roles.guard import guarded, make_guard
from baton_local.settings import LocalSettings
from baton_local.stack.declarations import FunctionDefinition, Stack

AGENTS_LAYER = "SharedLayer"
"""The layer with the library and the agents' files."""
GIVEN_PREFIXES = ("BATON_", "OPENAI_", "TIKTOKEN_")
"""Prefixes of variables that functions get from the template or the local cloud only."""


@dataclass(frozen=True)
class View:
    """A function's view of the variables of this process."""

    own: frozenset[str]
    """Names that the template gives to the function, and those that every function has in the local cloud."""
    all_given: frozenset[str]
    """Names that the template gives to at least one function."""

    def hides(self, name: str) -> bool:
        """Return whether the function, when deployed, lacks the variable."""
        return name not in self.own and (name in self.all_given or name.startswith(GIVEN_PREFIXES))


class Variables(MutableMapping[str, str]):
    """``os.environ`` as the running function sees it. Other code sees all variables."""

    def __init__(self, variables: MutableMapping[str, str], views: Mapping[str, View]) -> None:
        """``views`` are those of functions, by name."""
        self._all = variables
        self._views = views

    def __getitem__(self, name: str) -> str:
        view = self._views.get(current.get())
        if view and view.hides(name):
            raise KeyError(name)
        return self._all[name]

    def __setitem__(self, name: str, value: str) -> None:
        self._all[name] = value

    def __delitem__(self, name: str) -> None:
        del self._all[name]

    def __iter__(self) -> Iterator[str]:
        view = self._views.get(current.get())
        return (name for name in list(self._all) if not view or not view.hides(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def copy(self) -> dict[str, str]:
        """Return the visible variables, as ``os.environ.copy()`` does."""
        return dict(self)

    def __or__(self, other: Mapping[str, str]) -> dict[str, str]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, str]) -> dict[str, str]:
        return {**other, **self}


def make_views(functions: Mapping[str, FunctionDefinition]) -> dict[str, View]:
    """Return the view of each function by the function's name."""
    local = list_local_names(functions)
    names = frozenset(name for function in functions.values() for name in function.variables)
    return {function.name: View(local.union(function.variables), names) for function in functions.values()}


@contextmanager
def as_deployed(stack: Stack, settings: LocalSettings, aliases: Mapping[str, str] | None = None) -> Iterator[None]:
    """Give each function of this process its own variables and role during the block.

    ``aliases`` are the template's names of resources, by their local names. Roles refer to the template's names.
    """
    before = os.environ
    os.environ = Variables(before, make_views(stack.functions))  # type: ignore[assignment]  # noqa: B003  a view, not a copy
    try:
        with guarded(make_guard(stack, settings.recordings, settings.template_file, aliases)):
            yield
    finally:
        os.environ = before  # noqa: B003
