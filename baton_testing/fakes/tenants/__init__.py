"""Doubles of the ports for tenants."""
