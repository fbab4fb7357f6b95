"""Records of what the prompt of a run held and what was left out, for the Context Inspector."""
