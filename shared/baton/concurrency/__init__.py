"""Concurrent tasks of the event loop, and a pool of threads."""
