"""What happens in a turn: accept, run, replay, resume."""
