"""A real OpenID Connect issuer on a local port, whose answers a test decides."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DISCOVERY = "/.well-known/openid-configuration"


class LocalIssuer:
    """A server of ``documents``: path -> a JSON value, raw bytes, or an int for a bare status."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requested_paths: list[str] = []
        self.documents: dict[str, Any] = {}
        self.redirects: dict[str, str] = {}
        self.drips: dict[str, str] = {}
        """The part of an answer that comes a byte at a time, by path: ``head`` or ``body``."""
        self.publish()

    @property
    def jwks_url(self) -> str:
        return f"{self.url}/jwks"

    def publish(self, *jwks: dict[str, Any]) -> None:
        """Publish exactly these keys."""
        self.documents[DISCOVERY] = {"issuer": self.url, "jwks_uri": self.jwks_url}
        self.documents["/jwks"] = {"keys": list(jwks)}

    def count_requests(self, path: str = "/jwks") -> int:
        return self.requested_paths.count(path)


@contextmanager
def serving() -> Iterator[LocalIssuer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.requested_paths.append(self.path)
            if self.path in issuer.redirects:
                self.send_response(302)
                self.send_header("Location", issuer.redirects[self.path])
                self.end_headers()
                return
            document = issuer.documents.get(self.path, 404)
            if isinstance(document, int):
                self.send_response(document)
                self.end_headers()
                return
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            head = b"HTTP/1.0 200 OK\r\nX-Padding: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n"
            slow = issuer.drips.get(self.path)
            for name, part in (("head", head), ("body", body)):
                self._send(part, seconds=0.05 if name == slow else 0.0)

        def _send(self, part: bytes, seconds: float) -> None:
            with suppress(OSError):
                for at in range(0, len(part), 1 if seconds else len(part)):
                    self.wfile.write(part[at : at + 1] if seconds else part)
                    time.sleep(seconds)

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer = LocalIssuer(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
