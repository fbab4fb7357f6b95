"""The events of an answer, from a stream or from an answer that arrived whole."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import httpx2 as httpx

from baton.adapters.egress.stream_limits import StreamLimits
from baton.adapters.models.answers.parts import get_mapping
from baton.adapters.models.bedrock.event_stream import (
    LIMITS,
    WHOLE_LIMITS,
    BrokenStream,
    EventStream,
    NoEventStream,
    StreamEvent,
    WholeBody,
)
from baton.adapters.models.bedrock.failures import make_broken_failure, read_response_failure, read_streamed_failure
from baton.domain.json_values import load_json

JSON_TYPE = "application/json"


async def read_json(response: httpx.Response, limits: StreamLimits) -> Any:
    """Return the JSON value of a body. Raises ``StreamTooLong``, ``BrokenStream`` and the errors of the connection."""
    body = WholeBody(limits)
    async for piece in response.aiter_raw():
        body.add(piece)
    try:
        return json.loads(body.content)
    except (ValueError, RecursionError):
        raise BrokenStream("The answer is no JSON.") from None


class Events(AsyncIterator[StreamEvent]):
    """The events of a response. Closing them closes its connection.

    Raises ``StreamTooLong``, and ``ProviderFailure`` for an exception in the stream and a body that is not an answer.
    """

    def __init__(self, response: httpx.Response, *, streams: bool) -> None:
        self._response = response
        self._stream = EventStream(response.aiter_raw(), LIMITS) if streams else None
        self._whole: Iterator[StreamEvent] | None = None

    async def __anext__(self) -> StreamEvent:
        try:
            event = await self._read_next()
        except NoEventStream as other:
            raise read_response_failure(200, {}, other.body) from None
        except (httpx.HTTPError, BrokenStream) as error:
            raise make_broken_failure(error) from None
        if event is None:
            raise StopAsyncIteration
        if event.is_exception:
            raise read_streamed_failure(event)
        return event

    async def _read_next(self) -> StreamEvent | None:
        """Return the next event; None at the end. An answer that arrives whole is divided into events."""
        if self._stream is not None and self._whole is None:
            try:
                return await anext(self._stream, None)
            except NoEventStream as other:  # a gateway sent the answer whole
                self._whole = iter(_list_events(_read_whole_answer(other)))
        if self._whole is None:
            self._whole = iter(_list_events(await self._read_answer()))
        return next(self._whole, None)

    async def aclose(self) -> None:
        """Close the connection, which ends the answer."""
        try:
            if self._stream is not None:
                await self._stream.aclose()
        finally:
            await self._response.aclose()

    async def _read_answer(self) -> Mapping[str, Any]:
        """Return an answer that is not streamed. Raises as ``read_json`` does."""
        answer = await read_json(self._response, WHOLE_LIMITS)
        if not isinstance(answer, Mapping):
            raise BrokenStream("The answer is no object.")
        return answer


def _read_whole_answer(other: NoEventStream) -> Mapping[str, Any]:
    """Return the answer that arrived in place of an event stream. Raises ``NoEventStream`` if it is not an answer."""
    answer = load_json(other.body)
    if not isinstance(answer, Mapping) or "output" not in answer:
        raise other
    return answer


def _list_events(answer: Mapping[str, Any]) -> list[StreamEvent]:
    """Return the content, the tokens and the end of an answer of Converse as events of ConverseStream."""
    message = get_mapping(get_mapping(answer.get("output")).get("message"))
    content = message.get("content")
    events: list[StreamEvent] = []
    for index, block in enumerate(content if isinstance(content, list) else ()):
        events += _list_block_events({"contentBlockIndex": index}, get_mapping(block))
    events.append(StreamEvent("metadata", {"usage": answer.get("usage")}))
    if "stopReason" in answer:
        events.append(StreamEvent("messageStop", {"stopReason": answer["stopReason"]}))
    return events


def _list_block_events(index: dict[str, Any], block: Mapping[str, Any]) -> list[StreamEvent]:
    """Return the events of one block. ``index`` is their common field ``contentBlockIndex``."""
    events: list[StreamEvent] = []
    deltas: list[dict[str, Any]] = []
    call, reasoning = get_mapping(block.get("toolUse")), get_mapping(block.get("reasoningContent"))
    if call:
        events.append(StreamEvent("contentBlockStart", {**index, "start": {"toolUse": call}}))
    elif reasoning:
        thinking = {**get_mapping(reasoning.get("reasoningText")), **reasoning}
        deltas += [{"reasoningContent": {name: thinking[name]}} for name in _REASONING if name in thinking]
    elif "text" in block:
        deltas.append({"text": block["text"]})
    events += [StreamEvent("contentBlockDelta", {**index, "delta": delta}) for delta in deltas]
    return [*events, StreamEvent("contentBlockStop", index)]


_REASONING = ("text", "signature", "redactedContent")
