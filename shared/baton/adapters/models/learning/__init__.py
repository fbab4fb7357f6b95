"""Lessons of refusals: the form in which an endpoint takes a request that it has refused in another form."""
