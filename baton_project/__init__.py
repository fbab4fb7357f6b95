"""Your own project: made, run with hot reload, checked and deployed."""
