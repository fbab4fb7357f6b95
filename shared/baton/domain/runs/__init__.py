"""Values of a run: calls of tools, sub-tasks, steps, tokens and prices, parts that only a provider reads."""
