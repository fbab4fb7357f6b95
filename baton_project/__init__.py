"""A project of one's own: made, run with hot reload, checked and deployed."""
