"""Conversations as regression tests."""
