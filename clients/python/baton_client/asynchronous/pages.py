"""Lists, page by page or item by item."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from baton_client.asynchronous.transport import AsyncTransport, Request
from baton_client.model_base import Model

T = TypeVar("T")


class Page(Model, Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None = None
    """The cursor of the next page; ``None`` if there is none."""


@dataclass(frozen=True, slots=True)
class AsyncPager(Generic[T]):
    """A list in pages. Iterating requests page after page; ``page`` requests one."""

    transport: AsyncTransport
    request: Request
    item: Any
    """The type of an item."""

    async def page(self, cursor: str | None = None) -> Page[T]:
        """Return the first page, or the one at ``cursor``. A page may be short or empty without being the last one."""
        request = self.request
        if cursor is not None:
            request = replace(request, params={**request.params, "cursor": cursor})
        page: Page[T] = await self.transport.read_value(request, Page[self.item])  # type: ignore[name-defined]
        return page

    async def pages(self) -> AsyncIterator[Page[T]]:
        """Yield every page."""
        page = await self.page(self.request.params.get("cursor"))
        yield page
        while page.next_cursor is not None:
            page = await self.page(page.next_cursor)
            yield page

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item
