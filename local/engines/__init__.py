"""The engines behind the local cloud: each starts on a free port, answers a real call, and surely ends."""
