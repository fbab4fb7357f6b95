"""Text of documents in the formats of offices and the web."""
