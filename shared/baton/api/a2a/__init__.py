"""Agent2Agent (https://a2a-protocol.org), by which other agents call the agents of this deployment."""
