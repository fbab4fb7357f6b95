"""Documents as text, read in separate processes."""
