"""Outgoing events: stamped and numbered, logged, delivered to connections, replayed and followed."""
