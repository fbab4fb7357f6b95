"""Results of checks, and the table that shows them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from baton_deployment.account import AWS_ERRORS, explain, is_denied

WIDTH = 120
"""The characters of a line of the table."""
OUTCOME_WIDTH = 13
"""The characters of the column of outcomes."""


class Outcome(StrEnum):
    """The outcome of a check."""

    FINE = "fine"
    NOTE = "note"
    """It works, but with a limit that an operator should know."""
    FAILS = "FAILS"
    UNKNOWN = "not checked"


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    outcome: Outcome
    detail: str
    advice: str = ""
    """The remedy, with the command if there is one."""


def fine(name: str, detail: str) -> Check:
    """Return a check that found no problem."""
    return Check(name, Outcome.FINE, detail)


def note(name: str, detail: str, advice: str = "") -> Check:
    """Return a check that found a limit."""
    return Check(name, Outcome.NOTE, detail, advice)


def fails(name: str, detail: str, advice: str = "") -> Check:
    """Return a check that found a reason why the deployment would fail or not work."""
    return Check(name, Outcome.FAILS, detail, advice)


def unknown(name: str, detail: str, advice: str = "") -> Check:
    """Return a check that could not be made."""
    return Check(name, Outcome.UNKNOWN, detail, advice)


def run_remote_check(name: str, check: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Yield the results of a check that calls AWS. After an error of AWS, yield that the check could not be made."""
    try:
        yield from check()
    except AWS_ERRORS as problem:
        reason = "the caller lacks a permission" if is_denied(problem) else "the request to AWS failed"
        yield unknown(name, f"{reason}: {explain(problem)}")


def format_row(check: Check, width: int) -> Iterator[str]:
    """Yield the lines of one row of the table. ``width`` is the width of the names."""
    first = f"{check.outcome:<{OUTCOME_WIDTH}}{check.name:<{width}}  "
    indent = " " * len(first)
    yield from _wrap(check.detail, first, indent)
    for line in check.advice.splitlines():
        yield f"{indent}{line}"  # may be a command, which must stay one line to be copied


def summarise(checks: Iterable[Check]) -> str:
    """Return one line with the number of checks of each outcome."""
    outcomes = [check.outcome for check in checks]
    return ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in Outcome if outcome in outcomes)


def _wrap(text: str, first: str, indent: str) -> list[str]:
    # Long words are commands and ARNs, which must stay whole to be copied.
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
