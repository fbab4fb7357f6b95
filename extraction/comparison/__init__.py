"""A comparison of readers of documents on files that are difficult to read."""
