"""Agents and tools that are written in Python. Their classes and decorators are attributes of ``baton``."""
