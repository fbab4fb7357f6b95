"""What goes into a prompt besides the question: history today, retrieved memories as they come."""
