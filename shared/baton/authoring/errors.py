"""Errors of agents and tools that are written in Python."""

from __future__ import annotations


class UnusableDefinition(ValueError):
    """An agent cannot be made as it is written. The message has a line for each problem: ``file:line: field: what``."""


class WrongArgument(ValueError):
    """An argument of a decorator or function is wrong. The import of the agents adds file and line."""


class CannotLoad(Exception):
    """A function cannot be used as a tool or hook. The message is for the operator."""
