"""Models that answer conversation tests."""
