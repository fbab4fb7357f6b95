"""Agent2Agent: other agents talk to this deployment's (https://a2a-protocol.org), by JSON-RPC."""
