"""Agents as files and code declare them: definitions, tools with their functions, models, and the rules of these."""
