"""A relay that delays every request to DynamoDB: ``python -m benchmarks.slow_storage PORT TARGET_PORT SECONDS``."""

from __future__ import annotations

import asyncio
import sys

HOST = "127.0.0.1"
PIECE = 256 * 1024


async def serve(port: int, target: int, seconds: float) -> None:
    """Relay connections to ``port`` to the ``target`` port. What clients send arrives ``seconds`` later."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, sending = await asyncio.open_connection(HOST, target)
        # The client waits for the answer before it sends the next request, so a piece is a request, or a part of one.
        await asyncio.gather(_copy(reader, sending, seconds), _copy(upstream, writer, 0.0))

    async with await asyncio.start_server(relay, HOST, port) as server:
        await server.serve_forever()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter, seconds: float) -> None:
    try:
        while piece := await source.read(PIECE):
            if seconds:
                await asyncio.sleep(seconds)
            target.write(piece)
            await target.drain()
    except ConnectionError:
        pass  # the other side has gone
    finally:
        target.close()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
