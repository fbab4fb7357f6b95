"""Agents and tools in Python: classes and decorators for developers, attributes of ``baton``, and their resources."""
