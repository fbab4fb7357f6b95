"""Modules that make the start of a function faster."""
