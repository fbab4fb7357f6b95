"""Records of tenants in the table: agents, limits, audit, and erasure."""
