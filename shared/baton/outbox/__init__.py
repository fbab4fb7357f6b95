"""Events on their way out: numbering, the log, delivery to connections, replay and following."""
