"""The classes of errors, one for each code of the server's table."""

import builtins
import re

from baton.domain import errors
from generation.formatting import format_code

HEAD = '''"""One class for each code of the server's table of errors."""

from baton_client.errors import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
)
'''
KINDS = {
    "invalid_request": "BadRequestError",
    "unauthorized": "AuthenticationError",
    "forbidden": "PermissionDeniedError",
    "not_found": "NotFoundError",
    "rate_limited": "RateLimitError",
    "internal_error": "ServerError",
}
"""Codes that say no more than their status does."""
BY_STATUS = {401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError", 429: "RateLimitError"}


def write_module() -> str:
    """Return the module."""
    table = {}
    classes = []
    for condition in sorted(_list_conditions(), key=lambda condition: condition.code):
        name = KINDS.get(condition.code)
        if name is None:
            name = _make_name(condition.code)
            title = f"{condition.title}." if condition.title[-1] not in ".?!" else condition.title
            classes.append(f'class {name}({_choose_kind(condition.status)}):\n    """{title} ({condition.code})"""\n')
        table[condition.code] = name
    rows = "".join(f'    "{code}": {name},\n' for code, name in sorted(table.items()))
    mapping = f"BY_CODE: dict[str, type[APIStatusError]] = {{\n{rows}}}\n"
    return format_code("\n\n".join([HEAD, *classes, mapping]))


def _list_conditions() -> list[type[errors.BatonError]]:
    classes = {
        error_class
        for error_class in _list_descendants(errors.BatonError)
        if error_class.__module__.startswith(f"{errors.__name__}.")
    }
    by_code = {
        error_class.code: error_class
        for error_class in sorted(classes, key=lambda error_class: -len(error_class.__mro__))
    }
    return list(by_code.values())


def _list_descendants(parent: type[errors.BatonError]) -> list[type[errors.BatonError]]:
    return [descendant for child in parent.__subclasses__() for descendant in (child, *_list_descendants(child))]


def _choose_kind(status: int) -> str:
    if status >= 500:
        return "ServerError"
    return BY_STATUS.get(status, "ConflictError" if status in {409, 412} else "BadRequestError")


def _make_name(code: str) -> str:
    words = "".join(word.capitalize() for word in re.split("_", code))
    name = words.removesuffix("Error") + "Error"
    return f"Run{name}" if hasattr(builtins, name) else name
