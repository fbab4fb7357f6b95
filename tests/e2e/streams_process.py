"""The function ``streams`` in a process of its own, which a test may kill: ``python -m tests.e2e.streams_process``.

It runs in the environment of a running local cloud, as another execution environment of the function does. Its first
line on standard output is its address.
"""

from __future__ import annotations

import socket
import sys

import uvicorn

from baton_local.functions import load_module
from baton_local.root import ROOT


def main() -> None:
    """Serve until killed."""
    module = load_module(ROOT / "functions" / "streams" / "app.py")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        server = uvicorn.Server(uvicorn.Config(module.app, log_level="warning"))
        server.run(sockets=[listener])


if __name__ == "__main__":
    main()
