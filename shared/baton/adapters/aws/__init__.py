"""AWS services but for the table and the search domain, and requests to them."""
