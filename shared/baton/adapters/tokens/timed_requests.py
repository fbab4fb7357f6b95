"""GET requests that end together at a deadline, however slowly a server sends."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from types import TracebackType
from typing import Any, TypeVar

SILENCE_SECONDS = 3.0
"""The longest wait for each piece of an answer."""

AnyConnection = TypeVar("AnyConnection", bound=HTTPConnection)


class TimedRequests:
    """Requests of one thread, as a context manager. No redirect is followed.

    The timeouts of sockets are limits of silence, so at the deadline the connections are shut down.
    """

    def __init__(self, seconds: float) -> None:
        self._sockets: list[socket.socket] = []
        self._is_over = False
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._opener = urllib.request.build_opener(_NoRedirects, _Handler(self._make))

    def __enter__(self) -> TimedRequests:
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._timer.cancel()
        for opened in self._sockets:
            opened.close()

    def read(self, url: str, headers: dict[str, str], most: int) -> bytes:
        """Return the body, up to ``most`` bytes of it. Raises ``OSError`` and ``http.client.HTTPException``."""
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the caller has checked the scheme
        try:
            with self._opener.open(request, timeout=SILENCE_SECONDS) as response:
                body: bytes = response.read(most)
        except (OSError, HTTPException):
            self._check(url)
            raise
        self._check(url)
        return body

    def _check(self, url: str) -> None:
        if self._is_over:
            raise TimeoutError(f"{url} answers too slowly") from None

    def _make(self, kind: type[AnyConnection], host: str, **options: Any) -> AnyConnection:
        connection = kind(host, **options)
        connect: Callable[..., socket.socket] = connection._create_connection  # type: ignore[attr-defined]

        def connect_noted(*arguments: Any) -> socket.socket:
            opened = connect(*arguments)
            self._sockets.append(opened.dup())  # TLS takes the socket itself over
            return opened

        connection._create_connection = connect_noted  # type: ignore[attr-defined]
        return connection

    def _end(self) -> None:
        self._is_over = True
        for opened in self._sockets:
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        # A redirect could lead from https to http, or to an address inside the network.
        return None


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    def __init__(self, make: Callable[..., HTTPConnection]) -> None:
        super().__init__()
        self._make = make

    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(partial(self._make, HTTPConnection), req)

    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(partial(self._make, HTTPSConnection), req)
