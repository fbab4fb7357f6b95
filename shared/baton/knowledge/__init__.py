"""The knowledge of agents from documents: divides, indexes and finds the documents."""
