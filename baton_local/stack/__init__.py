"""The template's declarations, resolved and made in the engines."""
