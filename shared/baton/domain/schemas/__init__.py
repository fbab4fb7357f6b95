"""JSON Schemas from outside, checked in bounded time."""
