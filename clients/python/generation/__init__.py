"""Generates the client's models and errors, and its synchronous half: ``python -m generation``."""
