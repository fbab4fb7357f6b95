"""Answers of models: their text, thinking and calls, whatever form these have."""
