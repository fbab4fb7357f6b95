"""Workers that feed queues, events and schedules to functions."""
