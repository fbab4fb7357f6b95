"""The local cloud runs the product's template on this machine. It is never deployed."""
