"""The knowledge of agents: documents and pages of sources, fetched, divided, indexed, refreshed and found."""
