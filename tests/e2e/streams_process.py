"""The function ``streams`` in a separate process, which a test may kill.

It runs in the environment of a running local cloud, as another execution environment of the function does.
"""

from __future__ import annotations

import socket
from multiprocessing.connection import Connection

import uvicorn

from baton_local.functions import load_module
from baton_local.root import ROOT


def serve(connection: Connection) -> None:
    """Say where it serves, and serve until killed."""
    module = load_module(ROOT / "functions" / "streams" / "app.py")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        connection.send(f"http://127.0.0.1:{listener.getsockname()[1]}")
        server = uvicorn.Server(uvicorn.Config(module.app, log_level="warning"))
        server.run(sockets=[listener])
