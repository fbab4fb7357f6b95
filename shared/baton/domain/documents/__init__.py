"""Values of documents, sources and chunks; words and rankings of searches."""
