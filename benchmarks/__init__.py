"""Benchmarks of Baton's cost and speed. Run each module with ``python -m benchmarks.<name>``."""
