"""Values of tenants: identities and permissions, limits and the rates that follow, secrets, counts of activity."""
