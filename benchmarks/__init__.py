"""What Baton costs and how fast it is, measured: run each module with ``python -m benchmarks.<name>``."""
