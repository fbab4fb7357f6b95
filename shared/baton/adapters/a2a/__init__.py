"""Agent2Agent: agents of other deployments (https://a2a-protocol.org)."""

from baton.adapters.a2a.remote_agents import RemoteAgents

__all__ = ["RemoteAgents"]
