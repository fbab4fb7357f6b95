# Generated from ``baton_client.asynchronous`` by ``make client``; do not edit.

"""The asynchronous client. ``baton_client.synchronous`` is generated from it."""
