"""Finding errors by their codes."""

from __future__ import annotations

from baton.domain.errors.base import BatonError, InternalError


def error_classes() -> list[type[BatonError]]:
    """Return every error class, for the reference page and for mapping a stored ``code`` back."""
    found: list[type[BatonError]] = []
    queue: list[type[BatonError]] = [BatonError]
    while queue:
        cls = queue.pop()
        found.append(cls)
        queue.extend(cls.__subclasses__())
    return sorted(found, key=lambda c: c.code)


def error_from_code(code: str, detail: str | None = None) -> BatonError:
    """Return the error of a stored outcome. An unknown code becomes an ``InternalError``."""
    for cls in error_classes():
        if cls.code == code and cls is not BatonError:
            return cls(detail)
    return InternalError(detail)
