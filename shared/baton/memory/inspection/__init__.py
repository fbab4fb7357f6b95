"""Recording of what a run's prompt held, for the Context Inspector."""
