"""Devices that make starts fast."""
