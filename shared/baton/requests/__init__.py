"""What a turn can be asked for, parsed."""
