"""Check every AWS call of a function on this machine against its role in the template."""
