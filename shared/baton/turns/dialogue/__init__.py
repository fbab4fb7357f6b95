"""The dialogue of a run: the choice of the agent that answers, local and remote runners, handoff events."""
