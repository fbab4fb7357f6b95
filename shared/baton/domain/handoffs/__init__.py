"""Handoffs and guided workflows."""
