"""Entry points: WebSocket actions, queued turns, controls, scheduled jobs."""
