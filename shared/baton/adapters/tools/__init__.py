"""External tools: HTTP, OpenAPI, MCP and Python."""
