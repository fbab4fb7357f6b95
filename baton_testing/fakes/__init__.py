"""In-memory doubles of the ports, which pass the contract suites of the real adapters."""
