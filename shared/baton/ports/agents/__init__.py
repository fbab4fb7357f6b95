"""Ports for agents: definitions, models, tools, remote agents and A2A tasks."""
