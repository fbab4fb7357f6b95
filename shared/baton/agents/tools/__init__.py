"""The tools of agents: Baton's built-in tools, the tools of one turn, and the cards of calls that need approval."""
