"""Agents whose ``run`` is a coroutine, and the steps of the coroutine, which are recorded and replayed."""
