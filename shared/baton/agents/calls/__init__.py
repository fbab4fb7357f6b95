"""Calls of tools and agents: executed, judged, limited and recorded; the files and citations that they pass on."""
