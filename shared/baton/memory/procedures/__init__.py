"""Procedures that agents follow: their capture, their making, and the decisions on them."""
