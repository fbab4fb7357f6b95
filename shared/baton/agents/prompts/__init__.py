"""Prompts of agents: the system text, the history that fits, the page's context, notes."""
