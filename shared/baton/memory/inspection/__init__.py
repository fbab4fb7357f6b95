"""The Context Inspector's records of runs."""
