"""The tools that an agent has in a turn."""
