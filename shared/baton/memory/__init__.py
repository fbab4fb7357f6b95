"""The context of a prompt besides the question: the history."""
