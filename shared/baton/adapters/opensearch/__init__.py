"""The search index on OpenSearch, 3.0 or newer with its k-NN plugin."""
