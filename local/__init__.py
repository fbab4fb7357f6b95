"""The local cloud: the product's own template, run on this machine. Never deployed."""
