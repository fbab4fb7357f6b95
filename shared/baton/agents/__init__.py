"""One agent at work: its loop, tools, sub-agents, approvals and prompt."""
