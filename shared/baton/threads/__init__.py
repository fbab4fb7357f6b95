"""Conversations: requests to them, handoffs in them, their sessions, leases, and outbox."""
