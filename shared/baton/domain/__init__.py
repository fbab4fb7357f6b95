"""What things are, and their rules. Pure: no I/O, no AWS, no clock."""
