"""Memory: the prompt, recall of what is remembered, episodes of ended sessions, and the Context Inspector."""
