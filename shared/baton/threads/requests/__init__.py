"""Requests that start a turn: types, parsing, queue records, and access to their threads."""
