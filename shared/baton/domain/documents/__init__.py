"""Documents, their sources, and search over them."""
