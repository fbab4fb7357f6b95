"""What arrives: WebSocket actions, queued turns, controls, the sweep."""
