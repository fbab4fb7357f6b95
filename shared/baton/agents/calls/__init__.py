"""Calls of tools and agents: executed, judged, limited and recorded."""
