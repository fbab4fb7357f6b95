"""Doubles of the ports for episodes and procedures."""
