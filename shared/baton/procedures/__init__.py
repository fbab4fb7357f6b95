"""Procedures that agents follow: how they are captured or made, which are approved, and who decides on them."""
