"""Handoffs, forks and workflows, and the conversation state that they change."""
