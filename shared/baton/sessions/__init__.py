"""Sessions of a thread: how they end, and who may read a thread."""
