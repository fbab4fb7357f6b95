"""What the conversation needs from the outside world, one protocol a file."""
