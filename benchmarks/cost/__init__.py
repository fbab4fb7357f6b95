"""The bill of a deployment, computed from its template, counted requests, prices and an assumed use."""
