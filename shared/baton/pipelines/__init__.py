"""Bounded background work: runs of pipelines begin while there is room for them."""
