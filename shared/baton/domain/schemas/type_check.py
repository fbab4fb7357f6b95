"""Checks of JSON values by Python types, whose validators, decimals and dates JSON Schemas cannot express."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

MAX_MESSAGE = 200
"""Characters of the message of a problem."""


@dataclass(frozen=True, slots=True)
class TypeProblem:
    """A reason why a value does not fit its type."""

    path: tuple[str | int, ...]
    """The names and positions that lead to the part that does not fit; empty for the value as a whole."""
    message: str
    """The reason, for the sender of the value. It may quote the value."""
    kind: str
    """The kind of reason, such as ``decimal_parsing``. It quotes nothing."""

    def __str__(self) -> str:
        where = ".".join(map(str, self.path))
        return f"{where}: {self.message}" if where else self.message


TypeCheck = Callable[[Any], Sequence[TypeProblem]]
"""Returns the first few reasons why a JSON value does not fit a type; empty if it fits."""
