"""The HTTP API: FastAPI routers, one a noun, and the AG-UI stream."""
