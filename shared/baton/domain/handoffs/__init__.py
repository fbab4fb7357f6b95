"""Handoffs and guided workflows: their definitions, states and progress."""
