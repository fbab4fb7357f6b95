"""Agents whose ``run`` is a coroutine: its steps, recorded and replayed."""
