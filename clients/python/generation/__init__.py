"""What the Python client takes from the server's description, and its synchronous half: ``python -m generation``."""
