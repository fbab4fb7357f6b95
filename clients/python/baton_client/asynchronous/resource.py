"""The base class of all resources."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, TypeVar

from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.transport import AsyncTransport, Request
from baton_client.errors import UnexpectedAnswerError

T = TypeVar("T")
NOT_JSON = "A line of the export is not JSON."


class AsyncResource:
    """Requests about one kind of resource."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def _choose_zone(self, chosen: str | None) -> str | None:
        """Return the time zone to send: the client's if ``chosen`` is None, and None if it is empty."""
        return self._transport.options.time_zone if chosen is None else chosen or None

    def _choose_locale(self, chosen: str | None) -> str | None:
        """Return the language to send: the client's if ``chosen`` is None, and None if it is empty."""
        return self._transport.options.locale if chosen is None else chosen or None

    async def _get(self, address: str, type_: type[T], **params: Any) -> T:
        return await self._transport.read_value(Request(method="GET", path=address, params=params), type_)

    async def _post(
        self,
        address: str,
        type_: type[T] | Any,
        body: Any = None,
        *,
        is_repeatable: bool = True,
        read_seconds: float | None = None,
    ) -> T:
        value: T = await self._send(
            "POST", address, type_, json=body, is_repeatable=is_repeatable, read_seconds=read_seconds
        )
        return value

    async def _delete(self, address: str, type_: type[T] | Any, **params: Any) -> T:
        value: T = await self._send("DELETE", address, type_, params=params)
        return value

    async def _send(self, method: str, address: str, type_: type[T] | Any, **request: Any) -> T:
        value: T = await self._transport.read_value(Request(method=method, path=address, **request), type_)
        return value

    async def _get_text(self, address: str, *, headers: dict[str, str] | None = None, **params: Any) -> str:
        return await self._transport.read_text(
            Request(method="GET", path=address, params=params, headers=headers or {})
        )

    def _list(self, address: str, item: type[T], **params: Any) -> AsyncPager[T]:
        return AsyncPager(self._transport, Request(method="GET", path=address, params=params), item)

    async def lines(self, address: str, *, has_end: bool = True, **params: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield the records of an answer in JSON Lines, and of further answers that its last line names.

        ``has_end`` is False for an answer without a line of type ``end``. Raises ``UnexpectedAnswerError`` for an
        answer that is cut off, ends with an error, or has a line that is no JSON object.
        """
        cursor: str | None = None
        while True:
            following: str | None = None
            async with aclosing(
                read_page_lines(self._transport, address, cursor, has_end=has_end, **params)
            ) as records:
                async for record in records:
                    match record.get("type"):
                        case "end":
                            following = record.get("nextCursor")
                        case "cursor":
                            pass
                        case _:
                            yield record
            if following is None:
                return
            cursor = following


async def read_page_lines(
    transport: AsyncTransport, address: str, cursor: str | None, *, has_end: bool = True, **params: Any
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the records of one answer in JSON Lines, its end included.

    Raises ``UnexpectedAnswerError`` if it is not whole.
    """
    is_whole, is_cut_off = not has_end, False
    request = Request(method="GET", path=address, params={**params, "cursor": cursor})
    async with transport.open(request) as response:
        async for line in response.aiter_lines():
            if not line.strip():
                continue
            record = _parse_record(line)
            if is_cut_off and (record is None or record.get("type") != "error"):
                raise UnexpectedAnswerError(NOT_JSON)
            if record is None:
                is_cut_off = True  # by an error, which follows
                continue
            match record.get("type"):
                case "end":
                    is_whole = True
                case "error":
                    raise UnexpectedAnswerError(f"The export ended early: {record.get('detail') or record}.")
            yield record
    if is_cut_off:
        raise UnexpectedAnswerError(NOT_JSON)
    if not is_whole:
        raise UnexpectedAnswerError("The export ended early. Ask for it again.")


def _parse_record(line: str) -> dict[str, Any] | None:
    """Return the line's record; None if it is not JSON. Raises ``UnexpectedAnswerError`` for other values."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict):
        raise UnexpectedAnswerError("A line of the export is no object.")
    return record
