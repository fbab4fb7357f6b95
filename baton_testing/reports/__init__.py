"""Reports of test runs."""
