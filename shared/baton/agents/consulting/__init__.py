"""Consultations of other agents, shipped and remote ones."""
