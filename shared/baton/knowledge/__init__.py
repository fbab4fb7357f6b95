"""What agents know from documents: how documents are divided, indexed and found."""
