"""Values of threads: messages, ends of runs, events, interrupts, branches, titles, requests and queue records."""
