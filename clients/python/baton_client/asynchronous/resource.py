"""What all resources have in common."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, TypeVar

from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.transport import AsyncTransport, Request
from baton_client.errors import UnexpectedAnswerError

T = TypeVar("T")


class AsyncResource:
    """Requests about one kind of thing."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _get(self, address: str, type_: type[T], **params: Any) -> T:
        return await self._transport.value(Request(method="GET", path=address, params=params), type_)

    async def _post(
        self,
        address: str,
        type_: type[T] | Any,
        body: Any = None,
        *,
        is_repeatable: bool = True,
        read_seconds: float | None = None,
    ) -> T:
        value: T = await self._sent(
            "POST", address, type_, json=body, is_repeatable=is_repeatable, read_seconds=read_seconds
        )
        return value

    async def _delete(self, address: str, type_: type[T] | Any, **params: Any) -> T:
        value: T = await self._sent("DELETE", address, type_, params=params)
        return value

    async def _sent(self, method: str, address: str, type_: type[T] | Any, **request: Any) -> T:
        value: T = await self._transport.value(Request(method=method, path=address, **request), type_)
        return value

    async def _text(self, address: str, *, headers: dict[str, str] | None = None, **params: Any) -> str:
        return await self._transport.text(Request(method="GET", path=address, params=params, headers=headers or {}))

    def _list(self, address: str, item: type[T], **params: Any) -> AsyncPager[T]:
        return AsyncPager(self._transport, Request(method="GET", path=address, params=params), item)

    async def lines(self, address: str, *, has_end: bool = True, **params: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield the records of an answer in JSON Lines, and of those that its last line asks for."""
        cursor: str | None = None
        while True:
            following, is_whole, broken = None, not has_end, None
            request = Request(method="GET", path=address, params={**params, "cursor": cursor})
            async with self._transport.opened(request) as response:
                async for line in response.aiter_lines():
                    if not line.strip():
                        continue
                    try:
                        record = _record(line)
                    except UnexpectedAnswerError as problem:
                        if broken:
                            raise
                        broken = problem  # an error may follow, which has cut the line off
                        continue
                    if broken and record.get("type") != "error":
                        raise broken
                    match record.get("type"):
                        case "end":
                            following, is_whole = record.get("nextCursor"), True
                        case "error":
                            raise UnexpectedAnswerError(f"The export ended early: {record.get('detail') or record}.")
                        case "cursor":
                            pass
                        case _:
                            yield record
            if broken:
                raise broken
            if not is_whole:
                raise UnexpectedAnswerError("The export ended early. Ask for it again.")
            if following is None:
                return
            cursor = following


def _record(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as problem:
        raise UnexpectedAnswerError("A line of the export is not JSON.") from problem
    if not isinstance(record, dict):
        raise UnexpectedAnswerError("A line of the export is no object.")
    return record
