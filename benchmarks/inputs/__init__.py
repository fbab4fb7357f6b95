"""Inputs of benchmarks: conversations, histories, documents, and a model that answers without delay."""
