"""Limits of the tests that read everything."""

from __future__ import annotations

from baton.api.runs.sse import Timing

AT_ONCE = Timing(comment_seconds=0.0, first_event_seconds=1.0, follow_seconds=0.01)
