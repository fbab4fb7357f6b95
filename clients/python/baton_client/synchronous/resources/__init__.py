# Generated from ``baton_client.asynchronous`` by ``make client``; do not edit.

"""One module for each kind of thing that the API is about."""
