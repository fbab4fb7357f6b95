"""The agents of a tenant: the registry that turns read, and changes of agents."""
