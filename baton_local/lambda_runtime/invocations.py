"""One invocation of a function by an execution environment."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

MAX_RESPONSE = 6 * 1024 * 1024
"""Bytes of an answer that is not streamed (Lambda's quota "invocation payload", synchronous)."""


class FunctionFailed(Exception):
    """An error of a function or of its runtime, with which an invocation ended."""

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type


class Answer(Protocol):
    """A receiver of a function's answer in pieces. The thread that reads the pieces calls the methods.

    No call follows ``end`` or ``fail``.
    """

    def add(self, data: bytes) -> None:
        """Take the next bytes."""

    def end(self) -> None:
        """Note that the answer is complete."""

    def fail(self, problem: FunctionFailed) -> None:
        """Note that the answer ends with an error."""


class WholeAnswer:
    """An answer that is delivered when it is complete; ``future`` has the decoded JSON or ``FunctionFailed``."""

    def __init__(self) -> None:
        self.future: Future[Any] = Future()
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self._data += data

    def end(self) -> None:
        """Deliver the answer. If it is too large, not JSON or nested too deeply, the invocation fails."""
        if len(self._data) > MAX_RESPONSE:
            self.fail(FunctionFailed("Function.ResponseSizeTooLarge", f"{len(self._data)} bytes"))
            return
        try:
            value = json.loads(bytes(self._data) or b"null")
        except (ValueError, RecursionError) as problem:
            self.fail(FunctionFailed("Runtime.MalformedResponse", str(problem)))
        else:
            self.future.set_result(value)

    def fail(self, problem: FunctionFailed) -> None:
        """Deliver the error."""
        self.future.set_exception(problem)


class StreamedAnswer:
    """An answer that is delivered while it arrives, to the event loop in which this object was made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pieces: asyncio.Queue[bytes | FunctionFailed | None] = asyncio.Queue()

    def add(self, data: bytes) -> None:
        """Deliver the next bytes."""
        self._put(data)

    def end(self) -> None:
        """Deliver the end."""
        self._put(None)

    def fail(self, problem: FunctionFailed) -> None:
        """Deliver the error."""
        self._put(problem)

    async def read_pieces(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive. Raises ``FunctionFailed``."""
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, FunctionFailed):
                raise piece
            yield piece

    def _put(self, piece: bytes | FunctionFailed | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)


@dataclass(eq=False)
class Invocation:
    """An event, and the receiver of its answer."""

    event: bytes
    answer: Answer
    function_arn: str
    timeout: float
    """Seconds from the moment at which the runtime takes the event."""
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    _is_over: bool = False

    def make_headers(self) -> list[tuple[str, str]]:
        """Return the headers of the event for the runtime. The deadline counts from now."""
        return [
            ("Content-Type", "application/json"),
            ("Lambda-Runtime-Aws-Request-Id", self.id),
            ("Lambda-Runtime-Deadline-Ms", str(int((time.time() + self.timeout) * 1000))),
            ("Lambda-Runtime-Invoked-Function-Arn", self.function_arn),
            ("Lambda-Runtime-Trace-Id", f"Root=1-{int(time.time()):08x}-{self.id.replace('-', '')[:24]};Sampled=0"),
        ]

    def end(self) -> None:
        """End the answer, unless it has ended."""
        if not self._is_over:
            self._is_over = True
            self.answer.end()

    def fail(self, problem: FunctionFailed) -> None:
        """Fail the answer, unless it has ended."""
        if not self._is_over:
            self._is_over = True
            self.answer.fail(problem)
