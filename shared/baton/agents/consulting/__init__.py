"""Consultations of other agents, both local and remote."""
