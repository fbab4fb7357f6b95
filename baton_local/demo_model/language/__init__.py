"""Rules, without a model, read the English statements of users about themselves, and their questions about them."""
