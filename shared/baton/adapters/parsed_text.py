"""The parsed text of a secret or setting, parsed again only when the text has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ParsedText(Generic[T]):
    """The value of the latest text."""

    def __init__(self, parse: Callable[[str], T]) -> None:
        self._parse = parse
        self._latest: tuple[str, T] | None = None

    def of(self, text: str) -> T:
        """Return the value of ``text``. Raises what ``parse`` raises, each time until the text has changed."""
        if self._latest is None or self._latest[0] != text:
            self._latest = (text, self._parse(text))
        return self._latest[1]
