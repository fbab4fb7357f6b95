"""The use cases of an ``App``, by their places in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from baton.composition.app import App, build
from tests.fakes.ports import FakePorts


def use_cases() -> Iterator[str]:
    """The path of each one from an ``App``, such as ``turns`` and ``knowledge.documents``."""
    yield from properties(App)
    for group, ports in vars(build(FakePorts())).items():
        if type(ports).__module__.startswith("baton.composition."):
            yield from (f"{group}.{name}" for name in properties(type(ports)))


def properties(owner: type) -> list[str]:
    """The names of what an object builds on first use."""
    return [name for name, value in vars(owner).items() if isinstance(value, cached_property)]
