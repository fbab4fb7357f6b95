"""Bounded background work: runs of pipelines begin when there is room for them."""
