"""Memory: the prompt, recall, episodes of ended sessions, and the Context Inspector."""
