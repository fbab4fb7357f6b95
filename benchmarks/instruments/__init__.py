"""Meters, local services and tables that benchmarks share."""
