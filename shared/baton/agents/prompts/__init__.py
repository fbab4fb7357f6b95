"""Prompts of agents during a turn: notes, metadata, and the prompt that grows and is shortened."""
