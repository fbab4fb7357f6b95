"""Doubles of the ports for threads."""
