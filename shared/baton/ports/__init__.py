"""Interfaces to everything outside the library, one Protocol a file."""
