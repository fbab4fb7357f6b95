"""Interfaces to everything outside the library, as Protocols: docstrings without code."""
