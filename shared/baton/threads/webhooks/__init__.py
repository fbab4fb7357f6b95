"""Outgoing webhooks: the events that a change of a thread means, and their deliveries."""
