"""Calls of tools and agents: their execution, hooks, limits, records and progress."""
