"""Tools of the project's agents."""
