"""The dialogue of a run: the router, the runners of local and remote agents, handoff events."""
