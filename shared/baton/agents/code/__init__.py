"""Agents whose ``run`` is a coroutine."""
