"""Routes of documents, their sources, and search over them."""
