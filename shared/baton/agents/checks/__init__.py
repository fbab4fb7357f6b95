"""Checks of the abilities of a deployment's models, and advice about the models."""
