"""Agents as their files declare them, and the rules of these declarations."""
