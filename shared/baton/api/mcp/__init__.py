"""The MCP server, which offers agents as tools to other assistants."""
