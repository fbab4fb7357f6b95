"""Taking a thread's lease, holding it, and finding out whether its holder is alive."""
