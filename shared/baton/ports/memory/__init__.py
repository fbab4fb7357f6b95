"""Ports for episodes and procedures."""
