"""The HTTP and WebSocket server, with its own thread and event loop."""

import asyncio
import errno
import logging
import socket
import threading
from typing import Any

import uvicorn

from baton_local.errors import LocalCloudError, PortTaken
from baton_local.serving.asgi import AsgiApp
from baton_local.serving.wire import ApiGatewayWebSocket, BoundedHttp

GRACE_SECONDS = 2
"""The longest time for which a stop waits for connections to end."""
START_SECONDS = 60


def claim(port: int) -> socket.socket:
    """Listen on ``port`` of 127.0.0.1 (0: a free port), so that no other program can. Raises ``LocalCloudError``.

    Connections wait in the backlog until the server takes the socket over.
    """
    # The protocol is explicit, because asyncio sets TCP_NODELAY only then. Without TCP_NODELAY, a small write on a used
    # connection waits 40 ms for the last acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(512)
    except OSError as problem:
        listener.close()
        if problem.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"Port {port} is taken by another program. Stop it, or choose another: `baton dev --port {port + 1}`, "
                f"or PORT={port + 1} for `make run`."
            ) from problem
        raise LocalCloudError(f"Cannot listen on port {port}: {problem.strerror}.") from problem
    return listener


class Server:
    """A server of one ASGI app; started and stopped from any thread."""

    def __init__(self, app: AsgiApp, listener: socket.socket, name: str = "gateway") -> None:
        config = uvicorn.Config(
            app,
            http=BoundedHttp,
            ws=ApiGatewayWebSocket,
            ws_per_message_deflate=False,  # API Gateway does not compress either
            ws_ping_interval=None,  # nor does it ping
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="on",
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        self._ready = threading.Event()
        self._server = _NotifyingServer(config, self._ready)
        self._listener = listener
        self._problem: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the server, and return when requests are served. Raises ``LocalCloudError``."""
        self._thread.start()
        self._ready.wait(START_SECONDS)
        if not self._server.started:
            raise LocalCloudError(
                f"The server of the {self._thread.name} did not start: {self._problem or 'see the log above'}"
            )

    def stop(self) -> None:
        """End connections and close the port. A repetition is not an error."""
        # uvicorn would log the responses that are cut off now as errors.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(GRACE_SECONDS + 3)
        self._listener.close()

    def call(self, function: Any, *arguments: Any) -> None:
        """Call ``function`` on the server's event loop, soon. Before the start, do nothing."""
        if self._loop:
            self._loop.call_soon_threadsafe(function, *arguments)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:  # noqa: BLE001  passed to the thread that waits in start
            self._problem = problem
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self._listener])


class _NotifyingServer(uvicorn.Server):
    """A server that sets an event once requests are served."""

    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()
