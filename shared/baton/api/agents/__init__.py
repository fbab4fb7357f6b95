"""Routes of agents and their versions, models and evaluations."""
