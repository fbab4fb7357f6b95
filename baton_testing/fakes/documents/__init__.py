"""Doubles of the ports for documents and search."""
