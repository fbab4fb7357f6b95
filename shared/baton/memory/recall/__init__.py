"""What is remembered for a message: retrieved, chosen, and put into words."""
