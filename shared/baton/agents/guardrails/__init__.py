"""Hooks and guardrails of agents."""
