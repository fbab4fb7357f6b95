"""Tenants: identities, limits, secrets, and counts of activity."""
