"""Ports for tenants: identities, audit, privacy and evaluations."""
