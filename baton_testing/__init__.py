"""Conversations as regression tests, and doubles of the library's ports."""
