"""The search index on OpenSearch, 3.0 or newer with k-NN: queries, versions of indices, reindexing, administration."""
