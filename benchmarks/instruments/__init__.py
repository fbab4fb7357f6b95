"""Meters, engines and tables that benchmarks share."""
