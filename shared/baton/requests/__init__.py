"""Requests for a turn: their types, their parsing, and their form in the queue."""
