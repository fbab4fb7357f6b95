"""Failures: the traces that they leave, and background work that reports them."""
