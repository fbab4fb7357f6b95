"""Agents and tools in Python: the classes and decorators that ``baton`` exports, and the calls of their functions."""
