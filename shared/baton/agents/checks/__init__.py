"""Checks of a deployment's models: what they can do, and advice about them."""
