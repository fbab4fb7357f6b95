"""One file or folder a technology, each behind a port."""
