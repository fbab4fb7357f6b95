"""Spans are sent once the answer has gone out: after the last byte of a response, and at the end of an invocation."""

from __future__ import annotations

from typing import Any

import pytest

from baton.api.http.middleware import FlushedTraces
from baton.composition.tracing import flushed
from baton.domain.errors import StoreUnavailable
from baton.domain.tracing import UNTRACED, Span
from baton.ports.tracing import TracedRun


class Recorder:
    """A tracer that records in what order things happen."""

    def __init__(self) -> None:
        self.order: list[Any] = []

    def begin(self, run: TracedRun) -> Span:
        return UNTRACED

    def flush(self, seconds: float) -> None:
        assert seconds <= 1
        self.order.append("flush")


@pytest.mark.parametrize("pieces", [[b"one"], [b"one", b"two"], [b""]])
async def test_a_response_is_whole_before_spans_are_sent_and_ends_afterwards(pieces: list[bytes]) -> None:
    recorder = Recorder()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number, piece in enumerate(pieces, start=1):
            await send({"type": "http.response.body", "body": piece, "more_body": number < len(pieces)})

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            recorder.order.append((message["body"], message["more_body"]))

    await FlushedTraces(app, recorder)({"type": "http"}, None, send)  # type: ignore[arg-type]
    assert recorder.order == [*((piece, True) for piece in pieces), "flush", (b"", False)]


def test_an_invocation_sends_its_spans_also_after_a_failure() -> None:
    recorder = Recorder()

    @flushed(lambda: recorder)
    def handler(fails: bool) -> str:
        recorder.order.append("turn")
        if fails:
            raise StoreUnavailable
        return "done"

    assert handler(False) == "done"  # noqa: FBT003
    with pytest.raises(StoreUnavailable):
        handler(True)  # noqa: FBT003
    assert recorder.order == ["turn", "flush", "turn", "flush"]
