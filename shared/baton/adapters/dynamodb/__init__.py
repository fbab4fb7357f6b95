"""Threads, streams and connections in one DynamoDB table under ``tenant#thread`` keys."""
