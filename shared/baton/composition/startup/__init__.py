"""Modules that shorten the start of a function."""
