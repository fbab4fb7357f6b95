"""GET requests to issuers of tokens, with a common deadline, which ends them even while a server sends slowly."""

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
"""The maximum wait for the next bytes of an answer."""

AnyConnection = TypeVar("AnyConnection", bound=HTTPConnection)


class TimedRequests:
    """Requests of one thread, as a context manager. No redirect is followed.

    Timeouts of sockets only limit silence, so a timer shuts the connections down at the deadline.
    """

    def __init__(self, seconds: float) -> None:
        """``seconds`` is the time limit of all requests together."""
        self._sockets: list[socket.socket] = []
        self._is_over = False
        self._timer = threading.Timer(seconds, self._shut_down)
        self._timer.daemon = True
        self._opener = urllib.request.build_opener(_NoRedirects, _Handler(self._make_connection))

    def __enter__(self) -> TimedRequests:
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._timer.cancel()
        for open_socket in self._sockets:
            open_socket.close()

    def read(self, url: str, headers: dict[str, str], max_bytes: int) -> bytes:
        """Return at most ``max_bytes`` of the body at ``url``.

        Raises ``OSError`` (``TimeoutError`` after the deadline), ``http.client.HTTPException``, and ``ValueError`` for
        an address that cannot be requested.
        """
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the caller has checked the scheme
        try:
            with self._opener.open(request, timeout=SILENCE_SECONDS) as response:
                body: bytes = response.read(max_bytes)
        except (OSError, HTTPException):
            self._check_deadline(url)
            raise
        self._check_deadline(url)
        return body

    def _check_deadline(self, url: str) -> None:
        """Raise ``TimeoutError`` after the deadline."""
        if self._is_over:
            raise TimeoutError(f"{url} answers too slowly") from None

    def _make_connection(self, kind: type[AnyConnection], host: str, **options: Any) -> AnyConnection:
        """Return a connection that records its socket when it connects."""
        connection = kind(host, **options)
        connect: Callable[..., socket.socket] = connection._create_connection  # type: ignore[attr-defined]

        def connect_and_record(*arguments: Any) -> socket.socket:
            new_socket = connect(*arguments)
            self._sockets.append(new_socket.dup())  # a duplicate, because TLS takes over the socket itself
            if self._is_over:  # the timer has ended before it could shut this socket down
                new_socket.close()
                raise TimeoutError
            return new_socket

        connection._create_connection = connect_and_record  # type: ignore[attr-defined]
        return connection

    def _shut_down(self) -> None:
        self._is_over = True
        for open_socket in self._sockets:
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        # Refused, because a redirect could lead from https to http, or to an address inside the network.
        return None


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    def __init__(self, make: Callable[..., HTTPConnection]) -> None:
        super().__init__()
        self._make_connection = make

    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(partial(self._make_connection, HTTPConnection), req)

    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(partial(self._make_connection, HTTPSConnection), req)
