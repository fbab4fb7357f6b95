"""Servers for agents, in separate threads: with or without TLS."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.types import ASGIApp


@contextmanager
def served(app: ASGIApp, certificate: Path | None = None) -> Iterator[str]:
    """Serve ``app`` on a free local port and give its base URL; with ``certificate`` over TLS."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        log_level="critical",
        timeout_graceful_shutdown=1,
        ssl_certfile=certificate,
        ssl_keyfile=certificate,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as subscriber:
        thread = threading.Thread(target=server.run, args=([subscriber],), name="test-agent", daemon=True)
        thread.start()
        scheme = "http" if certificate is None else "https"
        try:
            yield f"{scheme}://127.0.0.1:{subscriber.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def self_signed(folder: Path) -> Path:
    """A certificate for this machine that nobody vouches for, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test agent")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "agent.pem"
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path
