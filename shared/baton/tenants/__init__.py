"""Tenants at work: their agents, rates and the permits of runs, privacy and evaluations."""
