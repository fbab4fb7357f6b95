"""Errors of agents and tools that are written in Python."""

from __future__ import annotations


class UnusableDefinition(ValueError):
    """An agent cannot be made as it is written. The message has a line for each problem: ``file:line: field: what``."""


class WrongArgument(ValueError):
    """A decorator has an argument that it cannot use. The import of the agents adds file and line."""


class CannotLoad(Exception):
    """The function cannot be used as a tool; the message is for the operator."""
