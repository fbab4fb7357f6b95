"""Chunks: the pieces that a document is divided into to be searched, each found and cited as a whole."""
