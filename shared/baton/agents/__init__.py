"""The work of one agent in a run: model loop, answer, sources of the answer, approvals, and the attempt at the run."""
