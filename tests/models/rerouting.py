"""Requests to the addresses of real endpoints, answered by the stand-ins."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

import httpx2 as httpx

from tests.models.standins import StandIns


class Rerouted(httpx.AsyncHTTPTransport):
    """A transport that sends a real host's requests to its stand-in, so that what is known of that host applies."""

    def __init__(self, stand_ins: StandIns, names: Mapping[str, str]) -> None:
        """``names`` are the stand-ins by the last parts of the requests' paths."""
        # Nothing is encrypted, and reading the authorities that are trusted takes 20 ms.
        super().__init__(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        self._port = stand_ins.port
        self._names = names

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request to the stand-in for its path."""
        action = next(name for name in self._names if request.url.path.endswith(name))
        path = f"/{self._names[action]}/v1{action}"
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port, path=path)
        return await super().handle_async_request(request)
