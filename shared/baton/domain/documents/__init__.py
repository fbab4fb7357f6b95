"""Values of documents, sources and search: citations, numbered passages, words, rankings."""
