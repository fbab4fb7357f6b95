"""What goes into a prompt besides the question, in which order and within which budget."""
