"""Lessons of refusals: what an endpoint refused, and the form in which it takes the request instead."""
