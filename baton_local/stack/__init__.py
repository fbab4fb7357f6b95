"""The template's declarations, translated and resolved for this machine."""
