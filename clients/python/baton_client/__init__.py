"""The Python client of Baton."""
