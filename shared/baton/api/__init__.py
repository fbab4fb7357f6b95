"""The HTTP API: FastAPI routers, one for each noun, the AG-UI stream, A2A and MCP."""
