"""Values of threads: messages, events, interrupts, branches, titles, requests, and the records of the queue."""
