"""The tools of the agents."""
