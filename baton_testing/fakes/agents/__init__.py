"""Doubles of the ports for agents, models and tools."""
