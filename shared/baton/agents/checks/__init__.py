"""Checks of models, and advice about them."""
