"""Tools of the shop's support."""
