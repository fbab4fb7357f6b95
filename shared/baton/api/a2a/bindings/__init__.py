"""The bindings of A2A, JSON-RPC and HTTP+JSON, with their routers."""
