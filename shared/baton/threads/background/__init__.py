"""Work in the background of a conversation, and the runs that its results begin."""
