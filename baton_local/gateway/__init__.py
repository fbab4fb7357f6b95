"""API Gateway on this machine: the REST API, the WebSocket API and its management API, with the real event shapes."""
