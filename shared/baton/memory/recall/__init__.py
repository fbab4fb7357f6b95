"""Recall for a message: retrieves memories, chooses among them, and words them for the prompt."""
