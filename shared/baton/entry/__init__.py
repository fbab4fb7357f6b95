"""Entry points: WebSocket actions, queued turns, controls, merges, the sweep."""
