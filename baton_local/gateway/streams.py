"""Answers of functions that stream (``response-streaming-invocations``), as API Gateway sends them on.

An answer is a JSON object with the status and headers, eight zero bytes, and the body ("Set up a
Lambda proxy integration with payload response streaming",
docs.aws.amazon.com/apigateway/latest/developerguide/response-streaming-lambda-configure.html).
"""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, Protocol

from baton_local.gateway.rest_events import MalformedAnswer
from baton_local.serving.asgi import Send

SEPARATOR = b"\0" * 8
MAX_HEAD = 64 * 1024
"""Bytes within which the separator must end the head."""


class Streamed(Protocol):
    """A function whose answer arrives in pieces."""

    def stream(self, event: Any) -> "Pieces":
        """Invoke the function with ``event``, and return its answer."""


class Pieces(Protocol):
    """An answer that arrives in pieces."""

    def read_pieces(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive. Raises the function's error."""


async def pass_on(pieces: AsyncIterator[bytes], request_id: str, send: Send) -> None:
    """Send an answer while it arrives. Raises ``MalformedAnswer`` before anything is sent, and the function's error.

    A client that leaves does not interrupt the function, so the rest of the answer is read.
    """
    status, headers, rest = await _read_head(pieces)
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    raw.append((b"x-amzn-requestid", request_id.encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    if rest:
        await send({"type": "http.response.body", "body": rest, "more_body": True})
    async for piece in pieces:
        with contextlib.suppress(OSError):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    with contextlib.suppress(OSError):
        await send({"type": "http.response.body", "body": b""})


async def _read_head(pieces: AsyncIterator[bytes]) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return status, headers and the beginning of the body. Raises ``MalformedAnswer``.

    ``Transfer-Encoding`` is left out of the headers, because the server sets it.
    """
    data = b""
    async for piece in pieces:
        data += piece
        if SEPARATOR in data or len(data) > MAX_HEAD:
            break
    head, separator, rest = data.partition(SEPARATOR)
    if not separator:
        raise MalformedAnswer("no separator between head and body")
    try:
        fields = json.loads(head)
        multiple = {
            name: list(map(str, multi_value_header))
            for name, multi_value_header in (fields.get("multiValueHeaders") or {}).items()
        }
        lower_names = {name.lower() for name in multiple}
        headers = [(name, value) for name, values in multiple.items() for value in values]
        headers += [
            (name, str(header))
            for name, header in (fields.get("headers") or {}).items()
            if name.lower() not in lower_names
        ]
        headers += [("set-cookie", str(cookie)) for cookie in fields.get("cookies") or ()]
        return (
            int(fields["statusCode"]),
            [header for header in headers if header[0].lower() != "transfer-encoding"],
            rest,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise MalformedAnswer(str(problem)) from problem
