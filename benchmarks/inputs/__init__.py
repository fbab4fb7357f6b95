"""Conversations, histories and documents that benchmarks measure with, and a model that answers at once."""
