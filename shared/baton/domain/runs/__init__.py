"""Records of a run: calls, sub-tasks, steps, and token usage."""
