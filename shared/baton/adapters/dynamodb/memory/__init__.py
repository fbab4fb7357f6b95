"""Episodes and procedures in the table."""
