"""A real OpenID Connect issuer on a local port, whose answers a test decides."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DISCOVERY = "/.well-known/openid-configuration"


class LocalIssuer:
    """A server of ``documents``: path -> a JSON value, raw bytes, or an int for a bare status."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[str] = []
        self.documents: dict[str, Any] = {}
        self.redirects: dict[str, str] = {}
        self.publish()

    @property
    def jwks_url(self) -> str:
        return f"{self.url}/jwks"

    def publish(self, *jwks: dict[str, Any]) -> None:
        """Publish exactly these keys."""
        self.documents[DISCOVERY] = {"issuer": self.url, "jwks_uri": self.jwks_url}
        self.documents["/jwks"] = {"keys": list(jwks)}

    def times_asked(self, path: str = "/jwks") -> int:
        return self.asked.count(path)


@contextmanager
def serving() -> Iterator[LocalIssuer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
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
            self.send_response(200)
            self.end_headers()
            self.wfile.write(document if isinstance(document, bytes) else json.dumps(document).encode())

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
