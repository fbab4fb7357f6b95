"""Tenants: their agents, limits, rates, privacy and evaluations."""
