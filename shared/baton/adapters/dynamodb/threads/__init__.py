"""Threads in the table: messages, leases, runs and connections."""
