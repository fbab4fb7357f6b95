"""Agents from files in YAML and modules in Python."""
