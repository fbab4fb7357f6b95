"""Serves ASGI apps on this machine: allowed hosts, the server, and limits of its protocols."""
