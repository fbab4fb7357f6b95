"""The base of all errors, and the search for an error by its code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """The flaw of one field of a request."""

    field: str
    """Names of fields and indices in lists, joined by full stops; empty for the request as a whole."""
    message: str
    line: int | None = None
    """The line of a text that was sent, from 1."""
    place: tuple[str | int, ...] = ()
    """The parts of ``field``."""

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line is not None and not self.field else self.field
        return f"{where}: {self.message}" if where else self.message


class BatonError(Exception):
    """Base of every error that callers get. ``detail`` says what the caller can do.

    Arguments of the class statement set ``code``, ``status``, ``title`` and ``retryable``; the others are inherited.
    A new ``status`` without ``retryable`` sets it: errors from 500 on are retryable.
    """

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = True
    title: ClassVar[str] = "Something went wrong on our side"
    detail: str = "The request could not be completed. Please try again."
    problems: Sequence[FieldProblem] = ()
    """The flaws of fields; empty if ``detail`` says everything."""
    person: Mapping[str, Any] | None = None
    """The person whom the error is about, for clients; None if it concerns nobody."""
    retry_after: int | None = None
    """Seconds after which the request may succeed; None if they are not known."""
    resets_at: datetime | None = None
    """The time at which a limit's period ends; None for errors of no period."""
    can_continue: bool = False
    """True if the user may continue by a message with ``overSpending``: the refused one, or a new one if the error has
    ended a run."""

    def __init_subclass__(
        cls,
        *,
        code: str | None = None,
        status: int | None = None,
        title: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init_subclass__()
        if retryable is None and status is not None:
            retryable = status >= 500
        for name, value in {"code": code, "status": status, "title": title, "retryable": retryable}.items():
            if value is not None:
                setattr(cls, name, value)

    def __init__(self, detail: str | None = None, *, permission: str | None = None, action: str | None = None) -> None:
        """``permission`` is the missing permission and ``action`` the refused action, for the audit."""
        if detail is not None:
            self.detail = detail
        self.permission = permission
        self.action = action
        super().__init__(self.detail)


class InternalError(BatonError, code="internal_error"):
    """A fault of Baton itself; the cause is in the log under the request id."""


def list_error_classes() -> list[type[BatonError]]:
    """Return every error class that declares a code, sorted by code.

    Subclasses that share the code of their base are left out.
    """
    classes: list[type[BatonError]] = []
    queue: list[type[BatonError]] = [BatonError]
    while queue:
        error_class = queue.pop()
        if "code" in vars(error_class):
            classes.append(error_class)
        queue.extend(error_class.__subclasses__())
    return sorted(classes, key=lambda error_class: error_class.code)


def make_error_from_code(code: str, detail: str | None = None) -> BatonError:
    """Return the error of a stored outcome. An unknown code becomes an ``InternalError``."""
    for error_class in list_error_classes():
        if error_class.code == code and error_class is not BatonError:
            return error_class(detail)
    return InternalError(detail)
