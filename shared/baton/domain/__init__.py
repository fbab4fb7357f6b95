"""Types and rules of the domain. Pure: no I/O, no AWS, no clock."""
