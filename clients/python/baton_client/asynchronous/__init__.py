"""The asynchronous client. ``baton_client.synchronous`` is generated from it."""
