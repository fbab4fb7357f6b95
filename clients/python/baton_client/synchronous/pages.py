# Generated from ``baton_client.asynchronous`` by ``make client``; do not edit.

"""Lists, page by page or item by item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from baton_client.models.base import Model
from baton_client.synchronous.transport import Request, Transport

T = TypeVar("T")


class Page(Model, Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None = None
    """The cursor of the next page; ``None`` if there is none."""


@dataclass(frozen=True, slots=True)
class Pager(Generic[T]):
    """A list. Iterating asks for page after page; ``page`` asks for one."""

    transport: Transport
    request: Request
    item: Any
    """The type of an item."""

    def page(self, cursor: str | None = None) -> Page[T]:
        """Return the first page, or the one at ``cursor``. A page may be short, or empty, and not be the last one."""
        request = self.request
        if cursor is not None:
            request = replace(request, params={**request.params, "cursor": cursor})
        found: Page[T] = self.transport.value(request, Page[self.item])  # type: ignore[name-defined]
        return found

    def pages(self) -> Iterator[Page[T]]:
        """Yield every page."""
        page = self.page(self.request.params.get("cursor"))
        yield page
        while page.next_cursor is not None:
            page = self.page(page.next_cursor)
            yield page

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            for item in page.items:
                yield item
