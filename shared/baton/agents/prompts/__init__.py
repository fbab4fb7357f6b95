"""Prompts of agents, and notes in them."""
