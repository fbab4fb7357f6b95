"""Recall for a message: asks the stores, ranks and chooses what fits, and words it for the prompt."""
