"""Documents as text, read by ``baton_documents`` in separate processes."""
