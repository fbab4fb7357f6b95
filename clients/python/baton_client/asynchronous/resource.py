"""What all resources have in common."""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import quote

from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.transport import AsyncTransport, Request

T = TypeVar("T")


def path(template: str, **names: str) -> str:
    """Return ``template`` with each ``{name}`` replaced, percent-encoded: ids of a host may have slashes."""
    return template.format(**{name: quote(value, safe="") for name, value in names.items()})


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not ``None``."""
    return {name: value for name, value in fields.items() if value is not None}


class AsyncResource:
    """Requests about one kind of thing."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _get(self, address: str, type_: type[T], **params: Any) -> T:
        return await self._transport.value(Request(method="GET", path=address, params=params), type_)

    async def _post(
        self,
        address: str,
        type_: type[T],
        body: Any = None,
        *,
        is_repeatable: bool = True,
        headers: dict[str, str] | None = None,
    ) -> T:
        request = Request(
            method="POST", path=address, json=body, is_repeatable=is_repeatable, headers=headers or {}
        )
        return await self._transport.value(request, type_)

    async def _put(self, address: str, type_: type[T], body: Any, *, headers: dict[str, str] | None = None) -> T:
        return await self._transport.value(Request(method="PUT", path=address, json=body, headers=headers or {}), type_)

    async def _delete(self, address: str, type_: type[T] | Any, **params: Any) -> T:
        return await self._transport.value(Request(method="DELETE", path=address, params=params), type_)

    def _list(self, address: str, item: type[T], **params: Any) -> AsyncPager[T]:
        return AsyncPager(self._transport, Request(method="GET", path=address, params=params), item)
