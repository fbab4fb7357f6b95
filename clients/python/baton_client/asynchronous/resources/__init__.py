"""One module for each kind of thing that the API is about."""
