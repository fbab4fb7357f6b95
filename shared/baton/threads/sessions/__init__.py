"""Sessions of a thread and their ends."""
