"""Sessions of a thread: their ends, and who may read a thread."""
