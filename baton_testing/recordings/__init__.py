"""Tests made from stored conversations."""
