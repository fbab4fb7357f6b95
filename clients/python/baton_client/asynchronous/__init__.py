"""The client with its resources, transport and streams."""
