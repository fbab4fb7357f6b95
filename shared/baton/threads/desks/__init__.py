"""Conversations at desks: their lists, and the people who may read and answer them."""
