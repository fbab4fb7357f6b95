"""Agents as tools of an MCP server, for assistants of others."""
