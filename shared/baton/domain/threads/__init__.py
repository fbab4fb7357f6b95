"""Values of threads: messages, events, interrupts, titles, and the records of the queue."""
