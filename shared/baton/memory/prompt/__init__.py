"""The parts of a prompt besides the question, their order and their budget."""
