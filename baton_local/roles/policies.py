"""Evaluate roles by action and resource, without conditions.

A statement with conditions allows as if they held, and does not deny. ``make test`` evaluates every recorded call with
the conditions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from baton_local.roles.requests import Request

Document = Mapping[str, Any]
MAX_DECISIONS = 10_000
"""The number of cached decisions. Nearly all calls use the same table."""


class Policies:
    """The policies of a stack's roles."""

    def __init__(self, documents: Mapping[str, Iterable[Document]]) -> None:
        """``documents`` are the policy documents of each role, by the role's logical id."""
        self._statements = {
            role: [statement for document in document for statement in _as_list(document["Statement"])]
            for role, document in documents.items()
        }
        self._decided = lru_cache(MAX_DECISIONS)(self._decide)

    def allow(self, role: str, request: Request) -> bool:
        """Return whether a statement of ``role`` allows the request and none denies it."""
        return self._decided(role, request.action, request.resource)

    def _decide(self, role: str, action: str, resource: str) -> bool:
        """Return the decision of ``allow``, which is cached."""
        effects = {
            statement["Effect"]
            for statement in self._statements.get(role, ())
            if _applies_to(statement, action, resource)
            and not (statement["Effect"] == "Deny" and "Condition" in statement)
        }
        return effects == {"Allow"}


def _applies_to(statement: Document, action: str, resource: str) -> bool:
    """Return whether a statement is about an action on a resource, whatever its effect and conditions."""
    return _covers(statement, "Action", action.lower(), fold=True) and _covers(statement, "Resource", resource)


def _covers(statement: Document, element: str, value: str, *, fold: bool = False) -> bool:
    """Return whether the statement's ``element``, such as ``Action``, or its negation includes ``value``.

    ``fold`` compares without regard to case; ``value`` is in lower case then.
    """
    is_negated = f"Not{element}" in statement
    patterns = _as_list(statement[f"Not{element}" if is_negated else element])
    return (
        any(_compile_pattern(pattern.lower() if fold else pattern).fullmatch(value) for pattern in patterns)
        != is_negated
    )


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
