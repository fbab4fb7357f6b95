"""Outgoing events: numbering, the log, delivery to connections, replay and following."""
