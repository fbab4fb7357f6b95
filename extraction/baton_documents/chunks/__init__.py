"""Chunks: the pieces of a document that a search finds and cites as wholes."""
