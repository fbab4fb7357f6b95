"""Threads: messages, events, interrupts, and the records of the queue."""
