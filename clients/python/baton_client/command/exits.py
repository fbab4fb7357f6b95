"""Exit codes of the command, and errors in one line that says what to do."""

from __future__ import annotations

from enum import IntEnum
from http import HTTPStatus

from baton_client.errors import (
    APIConnectionError,
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    ConfigurationError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
)


class ExitCode(IntEnum):
    """The exit codes of the command."""

    OK = 0
    FAILED = 1
    """The server refused, or a failure has no specific code."""
    USAGE = 2
    """Wrong options, files or configuration; nothing was sent or the server found the request wrong."""
    FORBIDDEN = 3
    """Not signed in, or without the permission."""
    NOT_FOUND = 4
    UNREACHABLE = 5
    """No server answered."""
    CONFLICT = 6
    """The present state forbids it: something exists already or has changed meanwhile. Nothing was overwritten."""
    INTERRUPTED = 130
    """Ctrl-C."""


class CommandError(Exception):
    """An error that ends the command. The message is one line that says what the user can do."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code


def find_exit_code(problem: Exception) -> ExitCode:
    """Return the code with which the command ends after ``problem``."""
    match problem:
        case CommandError():
            return problem.code
        case AuthenticationError() | PermissionDeniedError():
            return ExitCode.FORBIDDEN
        case NotFoundError():
            return ExitCode.NOT_FOUND
        case ConflictError():
            return ExitCode.CONFLICT
        case BadRequestError(status=HTTPStatus.GONE):  # a removed tenant, whatever was asked for
            return ExitCode.FAILED
        case BadRequestError() | ConfigurationError():
            return ExitCode.USAGE
        case APIConnectionError():
            return ExitCode.UNREACHABLE
        case _:
            return ExitCode.FAILED


def describe_problem(problem: Exception) -> str:
    """Return the error's line: what is wrong, and what the user can do."""
    text = str(problem)
    match problem:
        case AuthenticationError():
            sign_in = "Run `baton login` (`baton login --local` for a local cloud)"
            return f"{text} {sign_in}, or set BATON_TOKEN to a token that is still valid."
        case PermissionDeniedError():
            return f"{text} `baton doctor` shows what your token permits."
        case APIConnectionError():
            return f"{text} `baton doctor` looks for the cause; `baton --url ADDRESS` or BATON_URL names the server."
        case APIStatusError() if problem.problems:
            fields = [f"{problem.field}: {problem.message}" for problem in problem.problems]
            unnamed = "; ".join(field for field in fields if field not in text)
            return f"{text} ({unnamed})" if unnamed else text
        case _:
            return text
