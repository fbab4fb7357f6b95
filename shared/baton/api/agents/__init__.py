"""Routes of agents, models and evaluations."""
