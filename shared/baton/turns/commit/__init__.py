"""The commit of a run: its messages, the thread's pointer, and the steps that follow."""
