"""Failures of models' endpoints: their causes, the errors that callers get, and the waits before a retry."""
