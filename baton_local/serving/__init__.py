"""Serving ASGI apps on this machine: to whom, by which server, and with what limits on the wire."""
