"""The bindings of A2A: JSON-RPC and HTTP, and the routers that serve them."""
