"""Ports for threads: their store, leases, connections, queue and event log."""
