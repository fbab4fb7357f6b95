"""The bill of a deployment, computed from its template, from counted requests, from prices and from an assumed use."""
