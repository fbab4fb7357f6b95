"""Procedures that agents follow: which are approved, how they are made, and who decides on them."""
