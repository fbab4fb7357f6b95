"""Tests made of stored conversations."""
